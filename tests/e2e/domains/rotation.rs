//! New keys take the place of old ones, and at no moment does a message go out that receivers cannot
//! verify.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::Value;
use waxwing_dns::{DnsServer, Fault};
use waxwing_tests::{Domain, Launch, Record, Server, name_server, until_async};

use super::signatures::{Arrived, Texts, Verified, texts_of, verify};
use super::{lab, send, send_later};
use crate::fixture::Database;

const SOON: Duration = Duration::from_mins(1);
const SENDERS: usize = 3;

/// The records of the pair that waits.
fn next(domain: &Domain) -> Vec<Record> {
    domain.records().into_iter().filter(|it| it.0["rotation"] == "next").collect()
}

fn publish_next(domain: &Domain, dns: &DnsServer) {
    for record in next(domain) {
        record.publish(dns);
    }
}

/// A domain that sends without a pause, and DNS as it is at every moment.
struct Stream<'a> {
    dns: &'a DnsServer,
    server: &'a Server,
    name: &'a str,
    texts: RefCell<Texts>,
    arrived: RefCell<Vec<Arrived>>,
    /// How many of each sender.
    counts: RefCell<[usize; SENDERS]>,
    over: Cell<bool>,
}

impl Stream<'_> {
    fn publish(&self, record: &Record) {
        record.publish(self.dns);
        self.texts.borrow_mut().insert(record.name().to_owned(), record.value().to_owned());
    }

    fn withdraw(&self, record: &Record) {
        record.withdraw(self.dns);
        self.texts.borrow_mut().remove(record.name());
    }

    /// Sends message after message, each when the one before has arrived.
    async fn send(&self, sender: usize) {
        let mut number = 0;
        while !self.over.get() {
            let to = format!("s{sender}n{number}@example.com");
            send(self.server, self.server.key(), self.name, &to).await;
            let mail = self.server.wait_for_mail_to(&to).await;
            let texts = self.texts.borrow().clone();
            let raw = self.server.raw_mail(&mail).await;
            self.arrived.borrow_mut().push(Arrived { raw, texts });
            self.counts.borrow_mut()[sender] += 1;
            number += 1;
        }
    }

    /// Waits until every sender has sent something that it has begun after now.
    async fn a_while(&self) -> usize {
        let enough = self.counts.borrow().map(|it| it + 3);
        let has_enough =
            || self.counts.borrow().iter().zip(enough).all(|(count, enough)| *count >= enough);
        until_async("mail goes on", SOON, || async { has_enough().then_some(()) }).await;
        self.arrived.borrow().len()
    }

    async fn check(&self) -> Domain {
        self.server.check_domain(self.server.key(), self.name).await
    }
}

#[tokio::test]
async fn every_message_verifies_at_every_moment_of_a_rotation() {
    let (dns, server) = lab().await;
    let name = "stream.example";
    let before = server.verified_domain(&dns, server.key(), name).await;
    let (texts, arrived) = (RefCell::new(texts_of(&before)), RefCell::default());
    let (counts, over) = (RefCell::default(), Cell::new(false));
    let stream = Stream { dns: &dns, server: &server, name, texts, arrived, counts, over };
    let rotate = async {
        stream.a_while().await;
        let begun = server.rotate_domain(server.key(), name).await;
        let [rsa, ed25519] = next(&begun).try_into().expect("a new pair");
        stream.a_while().await;
        stream.publish(&rsa);
        assert_eq!(stream.check().await.selectors("signing"), before.selectors("signing"));
        stream.a_while().await;
        stream.publish(&ed25519);
        let last_of_old = stream.a_while().await;
        let after = stream.check().await;
        let first_of_new = stream.a_while().await;
        // The old records may go: nobody signs with them any more.
        before.required()[1..3].iter().for_each(|it| stream.withdraw(it));
        let gone = stream.check().await;
        assert_eq!((gone.state(), gone.progress()), ("verified", 100));
        stream.a_while().await;
        stream.over.set(true);
        (after, last_of_old, first_of_new)
    };
    let senders = join_all((0..SENDERS).map(|it| stream.send(it)));
    let ((after, last_of_old, first_of_new), _) = join(rotate, senders).await;

    assert_eq!(after.selectors("retired"), before.selectors("signing"));
    assert!(after.selectors("next").is_empty());
    let (old, new) = (before.selectors("signing"), after.selectors("signing"));
    assert!(new.len() == 2 && old.iter().all(|it| !new.contains(it)), "{old:?} {new:?}");
    let Some(said) = verify(&stream.arrived.borrow()) else { return };
    for verified in &said {
        verified.assert_right(name);
    }
    let keys: Vec<Vec<&str>> = said.iter().map(Verified::selectors).collect();
    assert!(keys.iter().all(|it| *it == old || *it == new), "a pair signs together: {keys:?}");
    assert!(keys[..last_of_old].iter().all(|it| *it == old), "{keys:?}");
    assert!(keys[first_of_new..].iter().all(|it| *it == new), "{keys:?}");
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn a_rotation_takes_nothing_away_and_waits_for_both_records() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "waits.example");
    let before = server.verified_domain(&dns, key, name).await;
    let begun = server.rotate_domain(key, name).await;
    assert_eq!((begun.state(), begun.progress(), begun.missing().len()), ("verified", 100, 0));
    assert_eq!(begun.selectors("signing"), before.selectors("signing"));
    let pair = next(&begun);
    assert_eq!(pair.len(), 2);
    for record in &pair {
        assert_eq!((record.status(), record.text("purpose")), ("missing", "DKIM"));
        assert!(begun.selectors("next").iter().any(|it| record.name().starts_with(it)));
    }
    // Once more is the same rotation.
    let again = server.rotate_domain(key, name).await;
    assert_eq!(again.0["dkim"], begun.0["dkim"]);

    pair[0].publish(&dns);
    dns.txt(pair[1].name(), before.required()[2].value());
    let wrong = server.check_domain(key, name).await;
    assert_eq!((wrong.selectors("next").len(), wrong.progress()), (2, 100));
    assert_eq!((next(&wrong)[0].status(), next(&wrong)[1].status()), ("satisfied", "wrong"));
    pair[1].withdraw(&dns);
    pair[1].publish(&dns);
    dns.fault(pair[1].name(), Fault::ServFail);
    let unseen = server.check_domain(key, name).await;
    assert_eq!((unseen.selectors("next").len(), unseen.state()), (2, "verified"));
    // Two records: receivers may take the other one.
    dns.clear(pair[1].name());
    dns.txt(pair[1].name(), "v=DKIM1; k=ed25519; p=");
    assert_eq!(server.check_domain(key, name).await.selectors("next").len(), 2);

    pair[1].withdraw(&dns);
    pair[1].publish(&dns);
    let done = server.check_domain(key, name).await;
    assert_eq!((done.state(), done.progress()), ("verified", 100));
    assert_eq!(done.selectors("signing"), begun.selectors("next"));
    assert_eq!(done.events(), ["domain.verified"], "nothing has happened to the domain");
    let keys = done.0["dkim"].as_array().expect("keys");
    assert_eq!(keys.iter().filter(|it| it["state"] == "retired").count(), 2);
    for retired in keys.iter().filter(|it| it["state"] == "retired") {
        assert!(retired["keepUntil"].as_str() > retired["since"].as_str(), "{retired}");
    }
    // The next one may begin at once, beside the pair that is retired.
    let third = server.rotate_domain(key, name).await;
    assert_eq!(third.0["dkim"].as_array().map(Vec::len), Some(6));
    assert_eq!(next(&third).len(), 2);
}

#[tokio::test]
async fn a_rotation_outlives_the_server() {
    let (dns, mut server) = lab().await;
    let (key, name) = (server.key().to_owned(), "outlives.example");
    let before = server.verified_domain(&dns, &key, name).await;
    let begun = server.rotate_domain(&key, name).await;
    server.kill9();
    server.restart();
    assert_eq!(server.domain(&key, name).await, begun);
    send(&server, &key, name, "old@example.com").await;
    let old = server.wait_for_mail_to("old@example.com").await;
    publish_next(&begun, &dns);
    let done = server.check_domain(&key, name).await;
    server.kill9();
    server.restart();
    send(&server, &key, name, "new@example.com").await;
    let new = server.wait_for_mail_to("new@example.com").await;
    let mut messages = Vec::new();
    for mail in [old, new] {
        messages.push(Arrived { raw: server.raw_mail(&mail).await, texts: texts_of(&done) });
    }
    // What is retired is not shown as a record to publish.
    messages[0].texts.extend(texts_of(&before));
    let Some(said) = verify(&messages) else { return };
    said[0].assert_signed_by(name, &before.selectors("signing"));
    said[1].assert_signed_by(name, &begun.selectors("next"));
}

#[tokio::test]
async fn a_domain_that_was_never_verified_gets_its_new_keys_at_once() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "never.example");
    let first = server.add_domain(key, name).await;
    first.required()[0].publish(&dns);
    let second = server.rotate_domain(key, name).await;
    assert!(next(&second).is_empty() && second.selectors("retired").is_empty());
    assert_ne!(first.selectors("signing"), second.selectors("signing"));
    assert_eq!((second.progress(), second.required().len()), (25, 4));
    second.publish(&dns);
    assert_eq!(server.check_domain(key, name).await.state(), "verified");
}

#[tokio::test]
async fn a_degraded_domain_signs_waiting_mail_with_its_new_keys_at_once() {
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("domains", "grace_s", "0");
    let server = Server::start(launch.with("delivery", "retry_pauses_s", "[1]"));
    let (key, name) = (server.key(), "degraded.example");
    let before = server.verified_domain(&dns, key, name).await;
    send_later(&server, key, name, "ada@example.com").await;
    // The account holder has lost the old keys' records for good.
    before.required()[1..3].iter().for_each(|it| it.withdraw(&dns));
    for state in ["warned", "degraded"] {
        assert_eq!(server.check_domain(key, name).await.state(), state);
    }
    let new = server.rotate_domain(key, name).await;
    assert_eq!((new.state(), new.progress(), new.required().len()), ("degraded", 50, 4));
    assert!(next(&new).is_empty());
    new.publish(&dns);
    let done = server.check_domain(key, name).await;
    assert_eq!((done.state(), done.progress()), ("verified", 100), "{done:#?}");
    let mail = server.wait_for_mail_to("ada@example.com").await;
    let raw = server.raw_mail(&mail).await;
    let Some(said) = verify(&[Arrived { raw, texts: texts_of(&done) }]) else { return };
    said[0].assert_signed_by(name, &new.selectors("signing"));
}

#[tokio::test]
async fn records_of_retired_keys_may_go_wrong_without_harm() {
    let (dns, server) = lab().await;
    let (key, name) = (server.key(), "retired.example");
    let before = server.verified_domain(&dns, key, name).await;
    publish_next(&server.rotate_domain(key, name).await, &dns);
    drop(server.check_domain(key, name).await);
    for record in &before.required()[1..3] {
        record.withdraw(&dns);
        dns.txt(record.name(), "v=DKIM1; p=");
    }
    let checked = server.check_domain(key, name).await;
    assert_eq!((checked.state(), checked.progress()), ("verified", 100));
    assert_eq!(checked.0["failure"], Value::Null);
    dns.fault(before.required()[1].name(), Fault::Silent);
    let checked = server.check_domain(key, name).await;
    assert_eq!((checked.state(), &checked.0["unclearSince"]), ("verified", &Value::Null));
}
