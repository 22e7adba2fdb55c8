//! What an operator finds in the log when somebody was refused, and what fail2ban makes of it.

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::json;
use waxwing_tests::{Launch, Port, Server, Smtp};

use super::{FROM, logged_in, whole};

const UNKNOWN: &str = "wx_live_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The lines of the log that tell of something refused over SMTP.
fn refusals(server: &Server) -> Vec<String> {
    let log = server.log();
    log.lines().filter(|it| it.contains("refused over SMTP")).map(str::to_owned).collect()
}

#[track_caller]
fn assert_holds(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
}

#[tokio::test]
async fn a_refused_login_over_smtp_is_one_line_of_the_log() {
    let server = Server::dev();
    let mut client = Smtp::secured(&server, Port::StartTls).await;
    client.log_in(UNKNOWN).await.assert(535);
    let lines = refusals(&server);
    let [line] = &lines[..] else { unreachable!("one line: {lines:?}") };
    assert_holds(line, &["peer=127.0.0.1", "reply=535", "enhanced=5.7.8", "refusal=UNAUTHORIZED"]);
    assert!(!server.log().contains("AAAAAAAA"), "the log holds nothing of the key");
}

#[tokio::test]
async fn a_key_that_was_switched_off_is_named_in_the_log() {
    let server = Server::dev();
    let (id, key) = server.make_key(server.dev_output("accountId"), &[]);
    drop(server.cli(&["key", "deactivate", &id]));
    Smtp::secured(&server, Port::Implicit).await.log_in(&key).await.assert(535);
    let lines = refusals(&server);
    let account = format!("account={}", server.dev_output("accountId"));
    assert_holds(lines.last().expect("a line"), &[&format!("key={id}"), &account]);
}

#[tokio::test]
async fn a_refused_message_is_one_line_with_its_account_and_why() {
    let server = Server::dev();
    let mut client = logged_in(&server, server.key()).await;
    client.say("MAIL FROM:<ada.lovelace@elsewhere.example>").await.assert(550);
    let message = whole("hi", "hi").replace("From: Tern", "X-Waxwing-Nothing: 1\r\nFrom: Tern");
    client.send(FROM, &["grace.hopper@example.com"], &message).await.assert(554);
    let lines = refusals(&server);
    let [sender, content] = &lines[..] else { unreachable!("two lines: {lines:?}") };
    let account = format!("account={}", server.dev_output("accountId"));
    let common = ["peer=127.0.0.1", "key=key_", &account];
    assert_holds(sender, &common);
    assert_holds(sender, &["reply=550", "refusal=DOMAIN_NOT_VERIFIED", "elsewhere.example"]);
    assert_holds(content, &common);
    assert_holds(content, &["reply=554", "refusal=BAD_REQUEST", "X-Waxwing-Nothing unknown"]);
    let log = server.log();
    assert!(!log.contains("lovelace") && !log.contains("hopper"), "no address: {log}");
}

#[tokio::test]
async fn a_refusal_over_http_names_key_account_code_and_peer() {
    let server = Server::dev();
    let body =
        json!({"to": "grace.hopper@example.com", "type": "SMS", "template": "t", "data": {}});
    server.send(server.key(), &body).await.assert_refused(400, "BAD_REQUEST");
    server.send(UNKNOWN, &body).await.assert_refused(401, "UNAUTHORIZED");
    let log = server.log();
    let line = |status: &str| {
        let wanted = format!("status={status} ");
        let line = log.lines().find(|it| it.contains("/messages/send") && it.contains(&wanted));
        line.expect("a line of the request").to_owned()
    };
    let account = format!("account={}", server.dev_output("accountId"));
    let known = ["peer=127.0.0.1", "key=key_", &account, "refusal=BAD_REQUEST"];
    assert_holds(&line("400"), &known);
    assert_holds(&line("401"), &["peer=127.0.0.1", "refusal=UNAUTHORIZED"]);
    assert!(!log.contains("hopper") && !log.contains("AAAAAAAA"), "no address, no key: {log}");
}

#[tokio::test]
async fn the_fail2ban_filter_of_the_documents_finds_failed_logins_and_no_more() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/OPERATING.md");
    let document = fs::read_to_string(document).expect("the document");
    let mut lines = document.lines().skip_while(|it| !it.starts_with("failregex = "));
    let [text, json] = [lines.next(), lines.next()].map(|line| {
        let line = line.expect("a filter for each format").trim_start_matches("failregex = ");
        Regex::new(&line.trim().replace("<ADDR>", "(?P<addr>[0-9a-f.:]+)")).expect("a regex")
    });
    assert_finds_failed_logins(Server::dev(), &text).await;
    assert_finds_failed_logins(Server::start(Launch::dev().with("log", "format", "json")), &json)
        .await;
}

async fn assert_finds_failed_logins(server: Server, filter: &Regex) {
    let mut client = Smtp::secured(&server, Port::StartTls).await;
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(530);
    client.log_in(UNKNOWN).await.assert(535);
    client.log_in(server.key()).await.assert(235);
    client.say("MAIL FROM:<hello@elsewhere.example>").await.assert(550);
    server.send(UNKNOWN, &json!({})).await.assert_refused(401, "UNAUTHORIZED");
    server.send(server.key(), &json!({})).await.assert_refused(400, "BAD_REQUEST");
    let log = server.log();
    let found: Vec<&str> = log
        .lines()
        .filter_map(|it| filter.captures(it)?.name("addr"))
        .map(|it| it.as_str())
        .collect();
    assert_eq!(found, ["127.0.0.1", "127.0.0.1"], "one over SMTP, one over HTTP: {log}");
}
