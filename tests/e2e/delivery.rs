//! From the queue to the inbox: at least once, in states that each have a reason.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, from_now, now_ms, until_async};

use crate::fixture::{Database, message, with};

const BOUND: Duration = Duration::from_secs(30);

fn events(message: &Value) -> Vec<&str> {
    let events = message["events"].as_array().expect("events");
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

/// Waits until that many messages stand in a state.
async fn wait_for_state(server: &Server, state: &'static str, count: i64) {
    let database = Database::of(server).await;
    let sql = match state {
        "deferred" => "SELECT count(*) FROM events WHERE type = 6",
        _ => "SELECT count(*) FROM messages WHERE state = 'delivered'",
    };
    let (database, what) = (&database, format!("{count} messages are {state}"));
    let ask = || async move { (database.number(sql).await >= count).then_some(()) };
    until_async(&what, BOUND, ask).await;
}

#[tokio::test]
async fn a_message_passes_through_its_states_in_order_each_with_a_reason() {
    let server = Server::dev();
    let answer = server.send(server.key(), &message("ada@example.com")).await;
    let id = answer.message_id();
    assert_eq!(answer.body["state"], "queued");
    wait_for_state(&server, "delivered", 1).await;
    let shown = server.message(&id);
    assert_eq!(shown["state"], "delivered");
    assert_eq!(events(&shown), ["message.queued", "message.sending", "message.delivered"]);
    for event in shown["events"].as_array().expect("events") {
        assert!(event["detail"].as_str().is_some_and(|it| !it.is_empty()), "{event}");
        assert!(event["id"].as_str().is_some_and(|it| it.starts_with("evt_")), "{event}");
    }
    assert!(shown["reason"].as_str().is_some_and(|it| it.starts_with("250 ")), "{shown}");
    assert_eq!(
        (&shown["to"], &shown["from"]),
        (&json!("ada@example.com"), &json!("hello@sandbox.test"))
    );
    assert_eq!((&shown["credits"], &shown["template"]), (&json!(1), &json!("verification-code")));
}

#[tokio::test]
async fn each_message_names_the_plugins_that_decided_it() {
    let server = Server::dev();
    let id = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let shown = server.message(&id);
    let decisions = shown["decisions"].as_array().expect("decisions");
    assert_eq!(decisions.len(), 3, "plan, domain, renderer: {shown}");
    let text =
        |decision: &Value, name: &str| decision[name].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = decisions.iter().map(|it| text(it, "name")).collect();
    names.sort();
    assert_eq!(names, ["waxwing-domain-policy", "waxwing-liquid-renderer", "waxwing-plan-policy"]);
    for decision in decisions {
        let digest = text(decision, "digest");
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        assert!(hex.len() == 64 && hex.bytes().all(|it| it.is_ascii_hexdigit()), "{decision}");
        assert!(text(decision, "version").split('.').count() == 3, "{decision}");
        assert!(!text(decision, "verdict").is_empty(), "{decision}");
    }
    let mut digests: Vec<String> = decisions.iter().map(|it| text(it, "digest")).collect();
    digests.dedup();
    assert_eq!(digests.len(), 3, "three components");
}

#[tokio::test]
async fn while_the_inbox_is_down_messages_wait_and_then_all_arrive() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let mut server = Server::start(down.with("delivery", "retry_pauses_s", "[1]"));
    let mut ids = Vec::new();
    for n in 0..5 {
        let to = format!("n{n}@example.com");
        ids.push(server.send(server.key(), &message(&to)).await.message_id());
    }
    // Each is tried, and tried again.
    wait_for_state(&server, "deferred", 10).await;
    let shown = server.message(&ids[0]);
    assert!(matches!(shown["state"].as_str(), Some("deferred" | "sending")), "{shown}");
    assert!(shown["reason"].as_str().is_some_and(|it| it.len() > 5), "{shown}");
    let expected = ["message.queued", "message.sending", "message.deferred", "message.sending"];
    assert_eq!(events(&shown).get(..4), Some(&expected[..]));
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM queue WHERE due_at > 0").await, 5);
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 5);

    server.terminate();
    server.restart_as(Launch::dev());
    let mails = server.wait_for_mails(5).await;
    assert_eq!(mails.len(), 5, "each arrives once");
    wait_for_state(&server, "delivered", 5).await;
    assert_eq!(events(&server.message(&ids[0])).last(), Some(&"message.delivered"));
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM queue").await, 0);
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 5, "tries cost nothing");
    database.assert_sound().await;
}

#[tokio::test]
async fn a_deferred_message_says_when_it_is_tried_again() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let server = Server::start(down.with("delivery", "retry_pauses_s", "[600]"));
    let id = server.send(server.key(), &message("a@example.com")).await.message_id();
    wait_for_state(&server, "deferred", 1).await;
    let database = Database::of(&server).await;
    let in_time = format!(
        "SELECT count(*) FROM queue
         WHERE due_at - {} BETWEEN 500000 AND 700000 AND lease_owner IS NULL",
        now_ms()
    );
    let found = database.number(in_time.as_str()).await;
    assert_eq!(found, 1, "ten minutes from now, and leased by nobody");
    let shown = server.message(&id);
    assert_eq!(shown["state"], "deferred");
    assert!(shown["nextAttemptAt"].is_string(), "the operator sees when: {shown}");
}

#[tokio::test]
async fn a_message_for_later_waits_until_it_is_due() {
    let server = Server::dev();
    let send_at = from_now(Duration::from_secs(10));
    let later = with(message("later@example.com"), "sendAt", json!(send_at));
    let answer = server.send(server.key(), &later).await;
    let id = answer.message_id();
    assert_eq!(answer.body["state"], "scheduled");
    assert_eq!(server.message(&id)["state"], "scheduled");
    server.send(server.key(), &message("now@example.com")).await.message_id();
    server.wait_for_mail_to("now@example.com").await;

    let mail = server.wait_for_mail_to("later@example.com").await;
    let (due, arrived) = (milliseconds(&send_at), milliseconds(&mail.received_at));
    // Midnight may be between them; before it was due would be nearly a day late.
    let late = (arrived + 24 * 60 * 60 * 1_000 - due) % (24 * 60 * 60 * 1_000);
    assert!(late < 30_000, "not before it is due, nor long after: {arrived} {due}");
    let shown = server.message(&id);
    assert_eq!(events(&shown).first(), Some(&"message.scheduled"), "{shown}");
}

#[tokio::test]
async fn a_message_for_later_survives_a_restart_and_one_for_the_past_goes_now() {
    let mut server = Server::dev();
    let tomorrow = json!(from_now(Duration::from_hours(24)));
    let later =
        server.send(server.key(), &with(message("b@example.com"), "sendAt", tomorrow)).await;
    let id = later.message_id();
    let past = with(message("a@example.com"), "sendAt", json!("2020-01-01T00:00:00+01:00"));
    assert_eq!(server.send(server.key(), &past).await.body["state"], "queued");
    server.wait_for_mail_to("a@example.com").await;
    server.kill9();
    server.restart();
    server.send(server.key(), &message("c@example.com")).await.message_id();
    server.wait_for_mail_to("c@example.com").await;
    assert_eq!(server.message(&id)["state"], "scheduled");
    // What was killed before its delivery was written down is delivered again.
    let arrived: BTreeSet<String> = server.inbox().await.into_iter().map(|mail| mail.to).collect();
    assert_eq!(arrived, BTreeSet::from(["a@example.com", "c@example.com"].map(str::to_owned)));
}

/// Milliseconds of the day.
fn milliseconds(rfc3339: &str) -> u64 {
    let (_, time) = rfc3339.split_once('T').expect("a date and a time");
    let mut parts = time.trim_end_matches('Z').split([':', '.']);
    let mut number = |width: usize| -> u64 {
        let text = parts.next().unwrap_or("0");
        format!("{text:0<width$}").parse().expect("a number")
    };
    ((number(2) * 60 + number(2)) * 60 + number(2)) * 1_000 + number(3)
}
