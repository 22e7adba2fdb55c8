//! An account holder's way: add a domain, publish its records one after the other, send; and what
//! happens when the records are taken away again.

use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Launch, Port, Server, Smtp, name_server, until_async};

use super::{assert_not_verified, holder, lab, send, send_later};
use crate::fixture::Database;

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_domain_comes_from_nothing_to_verified_record_by_record() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let (key, name) = (account.key.as_str(), "holder.example");
    let domain = server.add_domain(key, name).await;
    assert_eq!((domain.state(), domain.progress()), ("pending", 0));
    assert_eq!(domain.0["checkedAt"], Value::Null);
    assert!(domain.0["nextCheckAt"].is_string());
    assert!(domain.required().iter().all(|it| it.status() == "unchecked"));
    assert_not_verified(&server, key, &domain).await;

    let required = domain.required();
    required[0].publish(&dns);
    required[1].publish(&dns);
    for (published, progress) in [(2, 50), (3, 75), (4, 100)] {
        required[published - 1].publish(&dns);
        let domain = server.check_domain(key, name).await;
        assert_eq!(domain.progress(), progress);
        assert_eq!(domain, server.domain(key, name).await, "what is answered is what is kept");
        for (number, record) in domain.required().iter().enumerate() {
            let status = if number < published { "satisfied" } else { "missing" };
            assert_eq!(record.status(), status, "{record:?}");
            let is_missing = domain.missing().iter().any(|it| it.contains(record.name()));
            assert_eq!(is_missing, number >= published, "{:?}", domain.missing());
        }
        if progress < 100 {
            assert_eq!(domain.state(), "pending");
            assert_not_verified(&server, key, &domain).await;
        }
    }
    let domain = server.domain(key, name).await;
    assert_eq!((domain.state(), domain.events()), ("verified", vec!["domain.verified"]));
    assert_eq!((&domain.0["verified"], domain.missing().len()), (&Value::Bool(true), 0));

    assert!(server.messages(&account.id).is_empty(), "what was refused left nothing");
    assert_eq!(server.balance(&account.id), 1_000);
    send(&server, key, name, "http@example.com").await;
    let mut client = Smtp::secured(&server, Port::StartTls).await;
    client.log_in(key).await.assert(235);
    let from = format!("hello@{name}");
    let whole = format!("From: {from}\r\nSubject: Hi\r\n\r\nHi\r\n");
    drop(client.send(&from, &["smtp@example.com"], &whole).await.message_id());
    for to in ["http@example.com", "smtp@example.com"] {
        assert_eq!(server.wait_for_mail_to(to).await.from, from);
    }
    assert_eq!(server.balance(&account.id), 998);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn records_that_vanish_are_a_warning_and_stop_the_mail_after_the_grace() {
    let (dns, mut server) = lab().await;
    let account = holder(&server);
    let (key, name) = (account.key.as_str(), "vanish.example");
    let verified = server.verified_domain(&dns, key, name).await;

    for (gone, record) in verified.required().iter().enumerate() {
        record.withdraw(&dns);
        let domain = server.check_domain(key, name).await;
        let progress = 100 - 25 * (u64::try_from(gone).expect("few") + 1);
        assert_eq!((domain.state(), domain.progress()), ("warned", progress));
        assert_eq!((&domain.0["verified"], domain.missing().len()), (&Value::Bool(true), gone + 1));
        assert!(domain.text("sendsUntil") > domain.text("checkedAt"), "{domain:#?}");
        send(&server, key, name, "warned@example.com").await;
    }
    let warned = server.check_domain(key, name).await;
    assert_eq!(warned.events(), ["domain.verified", "domain.warning"], "it is told once");
    let detail = warned.0["events"][0]["detail"].as_str().expect("a detail");
    assert!(detail.contains(warned.text("sendsUntil")), "{detail}");
    assert!(detail.contains(verified.required()[0].name()), "{detail}");

    // The same, with no grace at all.
    server.restart_as(Launch::asking(&dns).with("domains", "grace_s", "0"));
    let degraded = server.check_domain(key, name).await;
    assert_eq!((degraded.state(), degraded.progress()), ("degraded", 0));
    assert_eq!(degraded.0["sendsUntil"], Value::Null);
    assert_not_verified(&server, key, &degraded).await;

    verified.publish(&dns);
    let again = server.check_domain(key, name).await;
    assert_eq!((again.state(), again.progress()), ("verified", 100));
    send(&server, key, name, "again@example.com").await;
    server.wait_for_mail_to("again@example.com").await;
    let events = ["domain.verified", "domain.warning", "domain.degraded", "domain.verified"];
    assert_eq!(again.events(), events);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn mail_of_a_degraded_domain_goes_when_it_is_verified_again() {
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("domains", "grace_s", "0");
    let server = Server::start(launch.with("delivery", "retry_pauses_s", "[1]"));
    let (key, name) = (server.key(), "pauses.example");
    let verified = server.verified_domain(&dns, key, name).await;
    let id = send_later(&server, key, name, "ada@example.com").await;
    verified.required()[0].withdraw(&dns);
    for state in ["warned", "degraded"] {
        assert_eq!(server.check_domain(key, name).await.state(), state);
    }
    let deferred = || async {
        let message = server.message(&id);
        (message["state"] == "deferred").then_some(message)
    };
    let message = until_async("it waits", SOON, deferred).await;
    assert_eq!(message["reason"], format!("{name} is not verified any more"));
    assert!(server.inbox().await.is_empty());

    verified.publish(&dns);
    assert_eq!(server.check_domain(key, name).await.state(), "verified");
    let mail = server.wait_for_mail_to("ada@example.com").await;
    let raw = String::from_utf8(server.raw_mail(&mail).await).expect("ASCII");
    assert_eq!(raw.matches("DKIM-Signature: ").count(), 2, "{raw}");
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn what_a_domain_has_become_holds_after_a_restart() {
    let (dns, mut server) = lab().await;
    let (key, name) = (server.key().to_owned(), "restart.example");
    let before = server.verified_domain(&dns, &key, name).await;
    server.restart();
    assert_eq!(server.domain(&key, name).await, before);
    send(&server, &key, name, "ada@example.com").await;
    server.kill9();
    server.restart();
    assert_eq!(server.domain(&key, name).await, before);
    server.wait_for_mail_to("ada@example.com").await;
}
