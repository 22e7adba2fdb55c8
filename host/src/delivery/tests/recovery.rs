//! After an outage mail goes on by itself, and earlier where somebody wants it.

use std::time::Duration;

use waxwing_dns::Fault;
use waxwing_mx::{Behaviour, MxServer, Reply, Situation, Stage};

use super::fixture::{Fixture, HOUR, MINUTE, NOW, Setup, server_on, smarthost};
use crate::delivery::routing::route::Route;
use crate::store::{RetryFilter, RetryOutcome};

#[tokio::test]
async fn after_an_outage_the_first_accepted_message_requeues_the_others() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let waiting = fixture.send_many(300, "example.com").await;
    fixture.run_until(NOW.after(MINUTE * 58)).await;
    assert!(fixture.states().await.iter().all(|it| it == "deferred"));
    server.start_again();
    // Their own next moment is in an hour.
    fixture.set_clock(NOW.after(HOUR + MINUTE * 10));
    let first = fixture.send("ada@example.com").await;
    fixture.until_state(first, "relayed").await;
    fixture.until_all(&waiting, "relayed").await;
    assert_eq!(server.messages().len(), 301, "none was sent twice");
    fixture.finish().await;
}

#[tokio::test]
async fn what_waits_for_one_smarthost_goes_on_through_another_of_its_route() {
    let (one, two) = (MxServer::start(Behaviour::new()), MxServer::start(Behaviour::new()));
    one.stop();
    two.stop();
    let both = [smarthost("one", &one), smarthost("two", &two)];
    let fixture = Fixture::new(Setup::smarthosts(&both)).await;
    let waiting = fixture.send_many(60, "example.com").await;
    fixture.run_until(NOW.after(MINUTE * 58)).await;
    two.start_again();
    fixture.set_clock(NOW.after(HOUR + MINUTE * 10));
    fixture.send("ada@example.com").await;
    fixture.until_all(&waiting, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn what_waits_for_name_servers_goes_on_when_they_answer() {
    let server = server_on("127.0.0.2", 0, Behaviour::new());
    let port = server.address().port();
    let fixture = Fixture::new(Setup { port, ..Setup::route(Route::Direct) }).await;
    let domains: Vec<String> = (0..12).map(|n| format!("customer{n}.example")).collect();
    for domain in &domains {
        fixture.dns.mx(domain, 10, "mx.example.net");
    }
    fixture.dns.ip("mx.example.net", [127, 0, 0, 2].into());
    fixture.dns.fault_everything(Some(Fault::ServFail));
    let mut waiting = fixture.send_many(30, &domains[0]).await;
    for domain in &domains[1..] {
        waiting.extend(fixture.send_many(1, domain).await);
    }
    fixture.run_until(NOW.after(MINUTE * 58)).await;
    assert!(fixture.states().await.iter().all(|it| it == "deferred"));
    fixture.dns.fault_everything(None);
    // No message has its own next moment before; none has tried in vain for the lookups.
    fixture.set_clock(NOW.after(MINUTE * 63));
    fixture.until_all(&waiting, "delivered").await;
    for id in waiting {
        let attempts = fixture.message(id).await.attempts.len();
        assert!(attempts <= 6, "{attempts} attempts");
    }
    fixture.finish().await;
}

#[tokio::test]
async fn a_back_off_of_the_destination_is_no_attempt() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let first = fixture.send("ada@example.com").await;
    fixture.after_attempts(first, 1).await;
    let ids = fixture.send_many(30, "example.com").await;
    fixture.run_until(NOW.after(MINUTE * 58)).await;
    let (mut attempts, mut unoffered) = (0, 0);
    for id in &ids {
        let details = fixture.message(*id).await;
        assert_eq!(details.row.state.as_str(), "deferred");
        attempts += details.attempts.len();
        if details.attempts.is_empty() {
            unoffered += 1;
            let reason = &details.row.reason;
            assert!(reason.starts_with("backing off from its destination until"), "{reason}");
            assert!(reason.contains("while connecting"), "{reason}");
            assert_eq!(super::fixture::events(&details), ["queued", "deferred"], "told once");
        }
    }
    // Back-offs of 15 s to 10 min: one of all messages tries after each.
    assert!(attempts <= 15, "{attempts} attempts for 30 messages");
    assert!(unoffered >= 15, "{unoffered}");
    server.start_again();
    fixture.run_until(NOW.after(MINUTE * 70)).await;
    fixture.until_all(&ids, "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_message_that_waits_is_told_what_its_destination_said() {
    let behaviour = Behaviour::new().reject(Stage::Connect, 554, "5.7.1 blocked, see example.org");
    let server = MxServer::start(behaviour);
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let first = fixture.send("ada@example.com").await;
    fixture.after_attempts(first, 1).await;
    let second = fixture.send("bob@example.com").await;
    let details = fixture.until_state(second, "deferred").await;
    assert_eq!(details.attempts.len(), 0);
    assert!(
        details.row.reason.contains("554 5.7.1 blocked, see example.org"),
        "{}",
        details.row.reason
    );
    fixture.finish().await;
}

/// From MAIL on, a server's words may be about another account's message: then a message is told only what it was
/// answered itself.
#[tokio::test]
async fn a_message_that_was_offered_keeps_the_words_of_its_own_server() {
    let behaviour = Behaviour::new().reject(Stage::Mail, 452, "4.3.1 quota used up for bob");
    let server = MxServer::start(behaviour);
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let offered = fixture.send_many(12, "example.com").await;
    fixture.until_all(&offered, "deferred").await;
    server.stop();
    fixture.run_until(NOW.after(MINUTE * 10)).await;
    let unoffered = fixture.send("bob@example.com").await;
    let unoffered = fixture.until_state(unoffered, "deferred").await.row.reason;
    assert!(!unoffered.contains("quota"), "{unoffered}");
    // Some have been offered, and wait since.
    let mut own = Vec::new();
    for id in offered {
        own.push(fixture.message(id).await.row.reason);
    }
    let told = |reason: &String| {
        let own = reason.split_once("; its own last attempt: ").map(|(_, own)| own);
        own.is_some_and(|it| it.contains("quota used up for bob"))
    };
    assert!(own.iter().any(told), "{own:?}");
    fixture.finish().await;
}

#[tokio::test]
async fn what_was_put_off_for_its_own_sake_waits_for_its_own_moment() {
    let grey = |it: &Situation<'_>| {
        let is_grey = it.recipient.is_some_and(|it| it.starts_with("grey")) && it.seen < 1;
        is_grey.then(|| Reply::new(451, "4.7.1 greylisted, come again"))
    };
    let server = MxServer::start(Behaviour::new().script(grey));
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let grey = fixture.send("grey@example.com").await;
    fixture.after_attempts(grey, 1).await;
    server.stop();
    let waiting = fixture.send("ada@example.com").await;
    fixture.after_attempts(waiting, 1).await;
    server.start_again();
    fixture.advance(Duration::from_secs(20));
    fixture.send("bob@example.com").await;
    fixture.until_state(waiting, "relayed").await;
    fixture.until_idle().await;
    assert_eq!(fixture.message(grey).await.attempts.len(), 1);
    fixture.finish().await;
}

#[tokio::test]
async fn a_wanted_message_is_tried_at_once_and_a_dead_host_not_hammered() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let ids = fixture.send_many(30, "example.com").await;
    fixture.run_until(NOW.after(MINUTE * 58)).await;
    let now = NOW.after(MINUTE * 58 + Duration::from_millis(1));
    let mut before = 0;
    for id in &ids {
        before += fixture.message(*id).await.attempts.len();
    }
    fixture.set_clock(now);
    let everything = RetryFilter::default();
    assert_eq!(fixture.store.retry_all(&everything, now).await.expect("works"), 30);
    fixture.advance(Duration::from_millis(1));
    fixture.until_idle().await;
    let mut tried = 0;
    for id in &ids {
        let details = fixture.message(*id).await;
        assert_eq!(details.row.state.as_str(), "deferred");
        tried += details.attempts.len();
    }
    assert_eq!(tried - before, 1, "one alone tries it for the others");

    server.start_again();
    // At the moment of its last failure nobody knows yet that it is well.
    fixture.advance(Duration::from_millis(1));
    let wanted = fixture.store.retry(ids[7], fixture.clock.now()).await.expect("works");
    assert_eq!(wanted, RetryOutcome::Now);
    fixture.advance(Duration::from_millis(1));
    fixture.until_all(&ids, "relayed").await;
    fixture.finish().await;
}
