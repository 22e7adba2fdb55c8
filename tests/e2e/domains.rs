//! Sender domains on a real server, against a real name server: from the first record to the last,
//! and back; and what nobody can have who does not own a domain.

mod access;
mod account_holder;
mod cli;
mod hostile;
mod lookups;
mod names;
mod policies;
mod records;
mod rotation;
mod schedule;
mod secrets;
mod signatures;
mod signing;
mod spf;
mod takeover;
mod unseen;

use std::time::Duration;

use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_tests::{Account, Domain, Launch, Port, Server, Smtp, from_now, name_server};

use crate::fixture::{message, with};

/// A name server, and a server that asks it.
async fn lab() -> (DnsServer, Server) {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns));
    (dns, server)
}

/// The same, where a name server may take its time: what is slow is not asked again meanwhile.
async fn patient_lab() -> (DnsServer, Server) {
    let dns = name_server().await;
    let server = Server::start(Launch::asking(&dns).with("dns", "timeout_ms", "20000"));
    (dns, server)
}

/// An account with a key that may send and manage its domains.
fn holder(server: &Server) -> Account {
    let account = server.open_account("pro", 1_000);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    Account { key_id, key, ..account }
}

/// A message from `hello@` a domain.
fn mail(domain: &str, to: &str) -> Value {
    with(message(to), "from", json!(format!("hello@{domain}")))
}

/// Sends from `hello@` a domain, which must be accepted.
async fn send(server: &Server, key: &str, domain: &str, to: &str) -> String {
    server.send(key, &mail(domain, to)).await.message_id()
}

/// The same, in fifteen seconds: what happens before finds it in the queue.
async fn send_later(server: &Server, key: &str, domain: &str, to: &str) -> String {
    let soon = json!(from_now(Duration::from_secs(15)));
    server.send(key, &with(mail(domain, to), "sendAt", soon)).await.message_id()
}

/// HTTP and SMTP refuse to send from a domain, with the judgement that the domain itself shows.
async fn assert_not_verified(server: &Server, key: &str, domain: &Domain) {
    let name = domain.text("name");
    let answer = server.send(key, &mail(name, "ada@example.com")).await;
    answer.assert_refused(403, "DOMAIN_NOT_VERIFIED");
    assert_eq!(answer.body["domain"], name);
    assert_eq!(answer.body["progress"], domain.progress());
    assert_eq!(answer.body["missing"], json!(domain.missing()));
    let mut client = Smtp::secured(server, Port::StartTls).await;
    client.log_in(key).await.assert(235);
    let refused = client.say(&format!("MAIL FROM:<hello@{name}>")).await;
    let (progress, missing) = (domain.progress(), domain.missing().join(", "));
    let reply = format!("550 5.7.1 DOMAIN_NOT_VERIFIED {name} {progress}% (missing {missing})");
    refused.assert_begins(&reply);
    // The same where only the message itself names it.
    let whole = format!("From: hello@{name}\r\nSubject: Hi\r\n\r\nHi\r\n");
    client.send("", &["ada@example.com"], &whole).await.assert_begins(&reply);
}

/// The same for a name that the account does not even have.
async fn assert_unknown(server: &Server, key: &str, name: &str) {
    let answer = server.send(key, &mail(name, "ada@example.com")).await;
    answer.assert_refused(403, "DOMAIN_NOT_VERIFIED");
    assert_eq!((&answer.body["domain"], &answer.body["progress"]), (&json!(name), &json!(0)));
    let missing = answer.body["missing"].to_string();
    assert!(missing.contains(&format!("add {name} to the account")), "{missing}");
}
