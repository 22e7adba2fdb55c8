//! To the recipients' own mail exchangers.

use waxwing_dns::Fault;
use waxwing_mx::{Authority, Behaviour, MxServer};

use super::fixture::{DAY, Fixture, HOUR, MINUTE, NOW, Setup, message_ids, server_on};
use super::verdicts::suppression;
use crate::delivery::routing::route::Route;
use crate::store::StsRow;

async fn fixture(server: &MxServer) -> Fixture {
    Fixture::new(Setup { port: server.address().port(), ..Setup::route(Route::Direct) }).await
}

#[tokio::test]
async fn hosts_are_tried_in_their_order_within_one_attempt() {
    let first = server_on("127.0.0.2", 0, Behaviour::new());
    let second = server_on("127.0.0.3", first.address().port(), Behaviour::new());
    first.stop();
    let fixture = fixture(&first).await;
    for (host, last, preference) in [("a", 2, 10), ("b", 3, 20)] {
        let name = format!("{host}.mx.example");
        fixture.dns.ip(&name, [127, 0, 0, last].into());
        fixture.dns.mx("example.com", preference, &name);
    }
    let id = fixture.send("ada@example.com").await;
    let details = fixture.until_state(id, "delivered").await;
    assert_eq!(details.attempts.len(), 1);
    let attempt = &details.attempts[0];
    assert_eq!((attempt.route.as_str(), attempt.host.as_deref()), ("direct", Some("b.mx.example")));
    first.start_again();
    // It did not answer a moment ago.
    fixture.advance(MINUTE * 5);
    let ids = fixture.send_many(5, "example.com").await;
    fixture.until_all(&ids, "delivered").await;
    assert_eq!((first.messages().len(), second.messages().len()), (5, 1));
    fixture.finish().await;
}

#[tokio::test]
async fn a_domain_without_mx_is_its_own_host_by_ipv6_or_ipv4() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    // Nobody listens on the IPv6 address.
    fixture.dns.ip("example.com", std::net::Ipv6Addr::LOCALHOST.into());
    fixture.dns.ip("example.com", [127, 0, 0, 2].into());
    let id = fixture.send("ada@example.com").await;
    let details = fixture.until_state(id, "delivered").await;
    assert_eq!(details.attempts.len(), 1);
    assert_eq!(details.attempts[0].host.as_deref(), Some("example.com"));
    assert_eq!(server.messages().len(), 1);
    fixture.finish().await;
}

#[tokio::test]
async fn a_host_with_an_ipv6_address_alone_gets_its_mail() {
    let server = server_on("::1", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.mx("example.com", 10, "six.mx.example");
    fixture.dns.ip("six.mx.example", std::net::Ipv6Addr::LOCALHOST.into());
    let id = fixture.send("ada@example.com").await;
    let details = fixture.until_state(id, "delivered").await;
    let address = server.address().to_string();
    assert_eq!(details.attempts[0].address.as_deref(), Some(address.as_str()));
    fixture.finish().await;
}

#[tokio::test]
async fn a_domain_that_takes_no_mail_fails_at_once_and_is_refunded() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.record("null.example", "MX", "0 .");
    fixture.dns.ip("null.example", [127, 0, 0, 2].into());
    for (domain, enhanced) in [("null.example", "5.1.10"), ("nothing.example", "5.1.2")] {
        let id = fixture.send(&format!("ada@{domain}")).await;
        let details = fixture.until_state(id, "failed").await;
        assert_eq!((details.row.refunded.0, details.attempts.len()), (1, 1), "{domain}");
        assert_eq!(details.attempts[0].enhanced.as_deref(), Some(enhanced), "{domain}");
    }
    assert_eq!(server.connections(), 0);
    fixture.finish().await;
}

/// One look at DNS may be wrong: a domain that was not renewed in time, or a zone that was just published.
#[tokio::test]
async fn a_null_mx_suppresses_an_address_with_its_second_message() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.record("null.example", "MX", "0 .");
    fixture.dns.record("empty.example", "TXT", "no address");
    for domain in ["null.example", "empty.example", "nothing.example"] {
        let to = format!("ada@{domain}");
        let mut suppressed = Vec::new();
        for _ in 0..3 {
            let id = fixture.send(&to).await;
            fixture.until_state(id, "failed").await;
            suppressed.push(suppression(&fixture, &to).await.is_some());
            // The second one is within the same disturbance, the third one is not.
            fixture.advance(if suppressed.len() == 1 { HOUR / 2 } else { HOUR });
        }
        assert_eq!(suppressed, [false, false, true], "{domain}");
    }
    fixture.finish().await;
}

#[tokio::test]
async fn while_the_resolver_is_down_mail_waits() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.mx("example.com", 10, "mx.example.net");
    fixture.dns.ip("mx.example.net", [127, 0, 0, 2].into());
    for fault in [Fault::ServFail, Fault::Refused, Fault::Silent, Fault::Malformed] {
        fixture.dns.fault_everything(Some(fault));
        let ids = fixture.send_many(3, "example.com").await;
        fixture.until_all(&ids, "deferred").await;
        fixture.dns.fault_everything(None);
        fixture.run_until(fixture.clock.now().after(MINUTE * 7)).await;
        fixture.until_all(&ids, "delivered").await;
        // What was found is forgotten.
        fixture.advance(DAY);
    }
    // The host is known, but not where it is.
    fixture.dns.fault("mx.example.net", Fault::ServFail);
    let id = fixture.send("ada@example.com").await;
    fixture.until_state(id, "deferred").await;
    fixture.dns.clear("mx.example.net");
    fixture.run_until(fixture.clock.now().after(MINUTE * 7)).await;
    assert_eq!(fixture.state(id).await, "delivered");
    fixture.finish().await;
}

#[tokio::test]
async fn mail_to_a_known_domain_does_not_wait_for_a_new_lookup() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.mx("example.com", 10, "mx.example.net");
    fixture.dns.ip("mx.example.net", [127, 0, 0, 2].into());
    let first = fixture.send("ada@example.com").await;
    fixture.until_state(first, "delivered").await;
    fixture.dns.fault_everything(Some(Fault::Silent));
    fixture.dns.forget_queries();
    // The records may be kept for five minutes.
    fixture.advance(MINUTE * 6);
    let second = fixture.send("bob@example.com").await;
    fixture.until_state(second, "delivered").await;
    let asked = || async { (fixture.dns.query_count() > 0).then_some(()) };
    fixture.until("the records are asked for", asked).await;
    fixture.advance(MINUTE * 5);
    let third = fixture.send("cy@example.com").await;
    fixture.until_state(third, "deferred").await;
    fixture.finish().await;
}

/// A domain with a host, and a policy that is known and enforced for a week.
async fn enforced(fixture: &Fixture, allowed: &str) {
    fixture.dns.mx("example.com", 10, "mx.example.net");
    fixture.dns.ip("mx.example.net", [127, 0, 0, 2].into());
    let policy = format!("version: STSv1\r\nmode: enforce\r\nmx: {allowed}\r\nmax_age: 604800\r\n");
    let expires_at = NOW.after(DAY * 7);
    let row = StsRow { id: "1".to_owned(), policy, fetched_at: NOW, expires_at };
    fixture.store.keep_sts_policy("example.com", &row).await.expect("kept");
}

#[tokio::test]
async fn under_an_enforced_policy_only_a_valid_certificate_gets_the_mail() {
    let authority = Authority::new();
    let wrong = Behaviour::new().start_tls(authority.issue(&["other.example"]));
    let server = server_on("127.0.0.2", 0, wrong);
    let (port, ca) = (server.address().port(), Some(authority.pem()));
    let fixture = Fixture::new(Setup { port, ca, ..Setup::route(Route::Direct) }).await;
    enforced(&fixture, "mx.example.net").await;
    let id = fixture.send("ada@example.com").await;
    for (behaviour, what) in [
        (Behaviour::new(), "no STARTTLS"),
        (Behaviour::new().start_tls(authority.issue_expired(&["mx.example.net"])), "expired"),
        (Behaviour::new().start_tls(Authority::new().issue(&["mx.example.net"])), "stranger"),
        (Behaviour::new().start_tls(authority.issue(&["mx.example.net"])), "good"),
    ] {
        let attempts = fixture.message(id).await.attempts.len().max(1);
        let details = fixture.after_attempts(id, attempts).await;
        assert_eq!(details.row.state.as_str(), "deferred", "before {what}: {}", details.row.reason);
        assert!(!server.commands().iter().any(|it| it.starts_with("MAIL")), "before {what}");
        server.set(behaviour);
        fixture.run_next_attempt(id).await;
    }
    let details = fixture.message(id).await;
    assert_eq!(details.row.state.as_str(), "delivered", "{}", details.row.reason);
    assert!(server.messages()[0].tls);
    assert_eq!(server.messages()[0].server_name.as_deref(), Some("mx.example.net"));
    fixture.finish().await;
}

#[tokio::test]
async fn a_host_that_an_enforced_policy_does_not_name_gets_nothing() {
    let authority = Authority::new();
    let good = Behaviour::new().start_tls(authority.issue(&["mx.example.net"]));
    let server = server_on("127.0.0.2", 0, good);
    let (port, ca) = (server.address().port(), Some(authority.pem()));
    let fixture = Fixture::new(Setup { port, ca, ..Setup::route(Route::Direct) }).await;
    enforced(&fixture, "mx.other.example").await;
    let id = fixture.send("ada@example.com").await;
    let details = fixture.after_attempts(id, 1).await;
    assert_eq!(details.row.state.as_str(), "deferred");
    assert!(details.row.reason.contains("MTA-STS"), "{}", details.row.reason);
    assert_eq!(server.connections(), 0);
    fixture.finish().await;
}

#[tokio::test]
async fn a_domain_that_mends_its_records_gets_what_waited() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let fixture = fixture(&server).await;
    fixture.dns.mx("example.com", 10, "mx.example.net");
    fixture.dns.ip("mx.example.net", [127, 0, 0, 9].into());
    let ids = fixture.send_many(5, "example.com").await;
    fixture.until_all(&ids, "deferred").await;
    fixture.dns.remove_all("mx.example.net");
    fixture.dns.ip("mx.example.net", [127, 0, 0, 2].into());
    fixture.run_until(NOW.after(HOUR * 2)).await;
    fixture.until_all(&ids, "delivered").await;
    assert_eq!(message_ids(&server.messages()).len(), 5);
    fixture.finish().await;
}
