//! What cannot be seen is not held against anybody: a dead resolver takes no domain away.

use std::time::Duration;

use serde_json::Value;
use waxwing_dns::Fault;
use waxwing_tests::{Launch, Server, name_server, until_async};

use super::{assert_not_verified, lab, send};
use crate::fixture::Database;

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_dead_resolver_never_degrades_a_verified_domain() {
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("dns", "timeout_ms", "100").with("dns", "tries", "1");
    let launch = launch.with("domains", "grace_s", "0").with("domains", "first_check_s", "60");
    let server = Server::start(launch);
    let (key, name) = (server.key(), "dead.example");
    // A try may be lost where a try is short; the first verdict is asked for until it is there.
    server.add_domain(key, name).await.publish(&dns);
    let verified = || async {
        let domain = server.check_domain(key, name).await;
        (domain.state() == "verified").then_some(domain)
    };
    let before = until_async("it is verified", SOON, verified).await;
    for (fault, times) in [
        (Fault::ServFail, 10),
        (Fault::Refused, 10),
        (Fault::NotImplemented, 5),
        (Fault::Malformed, 5),
        (Fault::Silent, 3),
        (Fault::NoTcp, 3),
    ] {
        dns.fault_everything(Some(fault));
        for _ in 0..times {
            let domain = server.check_domain(key, name).await;
            assert_eq!((domain.state(), domain.progress()), ("verified", 100), "{fault:?}");
            assert!(domain.required().iter().all(|it| it.status() == "unknown"), "{domain:#?}");
            assert!(domain.missing().is_empty() && domain.0["unclearSince"].is_string());
        }
        send(&server, key, name, "ada@example.com").await;
    }
    let unclear = server.domain(key, name).await;
    assert_eq!(unclear.events(), ["domain.verified"], "nothing has happened");
    assert!(unclear.text("unclearSince") < unclear.text("checkedAt"), "since the first of them");
    assert!(unclear.text("nextCheckAt") < before.text("nextCheckAt"), "it is soon asked again");
    dns.fault_everything(None);
    let clear = || async {
        let domain = server.check_domain(key, name).await;
        (domain.0["unclearSince"] == Value::Null).then_some(domain)
    };
    let after = until_async("it is seen again", SOON, clear).await;
    assert_eq!((after.state(), after.events()), ("verified", vec!["domain.verified"]));
}

#[tokio::test]
async fn a_resolver_that_is_gone_is_no_reason_either() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "gone.example");
    drop(server.verified_domain(&dns, key, name).await);
    let address = dns.address().to_string();
    drop(dns);
    let domain = server.check_domain(key, name).await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    for record in domain.required() {
        assert_eq!(record.status(), "unknown", "{record:?}");
        let lookup = domain.lookup(record.name(), record.text("type"));
        assert_eq!(lookup["resolver"], address);
        assert!(lookup["outcome"] == "timed out" || lookup["outcome"] == "server failure");
    }
    send(&server, key, name, "ada@example.com").await;
    server.wait_for_mail_to("ada@example.com").await;
}

#[tokio::test]
async fn another_name_server_answers_for_one_that_is_dead() {
    let (dead, dns) = (name_server().await, name_server().await);
    let servers = serde_json::json!([dead.address().to_string(), dns.address().to_string()]);
    let launch = Launch::asking(&dns).with("dns", "nameservers", &servers.to_string());
    let server = Server::start(launch.with("dns", "timeout_ms", "1500"));
    dead.fault_everything(Some(Fault::Silent));
    let (key, name) = (server.key(), "second.example");
    let domain = server.verified_domain(&dns, key, name).await;
    let of = |domain: &waxwing_tests::Domain| {
        domain.lookup("_waxwing.second.example", "TXT")["resolver"].clone()
    };
    assert_eq!(of(&domain), dns.address().to_string());
    // Each is asked where the other one fails.
    dns.fault_everything(Some(Fault::ServFail));
    dead.fault_everything(None);
    domain.publish(&dead);
    let domain = server.check_domain(key, name).await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    assert_eq!(
        (of(&domain), &domain.0["unclearSince"]),
        (dead.address().to_string().into(), &Value::Null)
    );
}

#[tokio::test]
async fn a_warned_domain_is_not_degraded_while_it_cannot_be_seen() {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns).with("domains", "grace_s", "0"));
    let (key, name) = (server.key(), "blind.example");
    let verified = server.verified_domain(&dns, key, name).await;
    verified.required()[1].withdraw(&dns);
    assert_eq!(server.check_domain(key, name).await.state(), "warned");
    dns.fault_everything(Some(Fault::ServFail));
    for _ in 0..5 {
        assert_eq!(server.check_domain(key, name).await.state(), "warned");
        send(&server, key, name, "ada@example.com").await;
    }
    dns.fault_everything(None);
    assert_eq!(server.check_domain(key, name).await.state(), "degraded");
    // A degraded one gains nothing by it.
    dns.fault_everything(Some(Fault::ServFail));
    let domain = server.check_domain(key, name).await;
    assert_eq!((domain.state(), domain.progress()), ("degraded", 75));
    assert_not_verified(&server, key, &domain).await;
}

#[tokio::test]
async fn one_record_seen_to_be_gone_counts_beside_unseen_ones() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "partly.example");
    let verified = server.verified_domain(&dns, key, name).await;
    dns.fault(verified.required()[1].name(), Fault::ServFail);
    verified.required()[2].withdraw(&dns);
    let domain = server.check_domain(key, name).await;
    let statuses: Vec<String> = domain.required().iter().map(|it| it.status().to_owned()).collect();
    assert_eq!(statuses, ["satisfied", "unknown", "missing", "satisfied"]);
    assert_eq!((domain.state(), domain.progress()), ("warned", 75), "what was seen before counts");
    assert_eq!(domain.missing().len(), 2);
    // Ownership that cannot be seen is not lost to anybody.
    dns.clear(verified.required()[1].name());
    verified.publish(&dns);
    dns.fault(verified.required()[0].name(), Fault::ServFail);
    let other = super::holder(&server);
    let theirs = server.add_domain(&other.key, name).await;
    theirs.publish(&dns);
    let still = server.check_domain(key, name).await;
    assert_eq!((still.state(), still.record("ownership").status()), ("warned", "unknown"));
    Database::of(&server).await.assert_sound().await;
}
