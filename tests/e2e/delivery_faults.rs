//! Delivery through a smarthost that is a test's own, by a real process that is killed, or whose disk
//! is full.

mod bounced;
mod disk;
mod kill;
mod recovery;
mod unwell;
mod why;

use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_mx::MxServer;
use waxwing_tests::{Account, Launch, Server, name_server};

use crate::fixture::{message, smarthosts, with};

const SENDER: &str = "sender.example";

/// A server that sends all its mail through that smarthost, and a name server that it asks.
async fn lab(smarthost: &MxServer) -> (DnsServer, Server, Account) {
    lab_pausing(smarthost, "[1]").await
}

/// The same with those pauses between attempts.
async fn lab_pausing(smarthost: &MxServer, pauses_s: &str) -> (DnsServer, Server, Account) {
    let dns = name_server().await;
    let launch = Launch::asking(&dns)
        .with("delivery", "route", "smarthost")
        .with("delivery", "smarthosts", &smarthosts(smarthost))
        .with("delivery", "retry_pauses_s", pauses_s);
    let (server, account) = started(launch, &dns).await;
    (dns, server, account)
}

/// The server, and an account with a verified domain.
async fn started(launch: Launch, dns: &DnsServer) -> (Server, Account) {
    let server = Server::start(launch);
    let account = server.open_account("pro", 10_000);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    let account = Account { key_id, key, ..account };
    drop(server.verified_domain(dns, &account.key, SENDER).await);
    (server, account)
}

/// A message from the verified domain.
fn mail(to: &str) -> Value {
    with(message(to), "from", json!(format!("hello@{SENDER}")))
}

/// The types of a message's events, without `message.`.
fn events(message: &Value) -> Vec<&str> {
    let events = message["events"].as_array().expect("events").iter();
    let types = events.filter_map(|it| it["type"].as_str());
    types.map(|it| it.trim_start_matches("message.")).collect()
}

/// Each event follows from the one before it.
fn assert_legal(message: &Value) {
    let events = events(message);
    assert_eq!(events.first(), Some(&"queued"), "{events:?}");
    let is_legal = |pair: &[&str]| match pair[0] {
        // It is not offered while its destination is backed off from.
        "queued" => ["sending", "deferred"].contains(&pair[1]),
        "deferred" => pair[1] == "sending",
        // What was killed in the middle of an attempt begins another one.
        "sending" => ["sending", "relayed", "deferred"].contains(&pair[1]),
        _ => false,
    };
    assert!(events.windows(2).all(is_legal), "{events:?}");
}
