//! What an endpoint answers, and what the server makes of it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Conduct, Launch, Receiver, Server};

use super::{of_type, until_deliveries};
use crate::fixture::message;

/// A server that tries after a second, so many times.
fn quick(tries: usize) -> Server {
    let pauses = format!("[{}]", vec!["1"; tries - 1].join(", "));
    Server::start(Launch::posting_here().with("webhooks", "retry_pauses_s", &pauses))
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let elsewhere = Receiver::start().await;
    let location = format!("location: {}\r\n", elsewhere.url());
    let receiver = Receiver::behaving(move |_| Conduct::Answer(307, location.clone())).await;
    let server = quick(2);
    let webhook = server.make_webhook(server.key(), &receiver, &["message.queued"]).await;
    server.send(server.key(), &message("a@example.com")).await.message_id();
    let failed = until_deliveries(&server, &webhook.id, "?state=failed", 1).await;
    let tries = failed[0]["attempts"].as_array().expect("a list");
    assert_eq!(tries.len(), 2, "{failed:#?}");
    let error = tries[0]["error"].as_str().expect("an error");
    assert!(error.contains("307") && error.contains("redirect"), "{error}");
    assert_eq!((receiver.posted().len(), elsewhere.posted().len()), (2, 0));
}

#[tokio::test]
async fn an_endpoint_that_says_410_is_disabled_and_the_others_hear_of_it() {
    let gone = Receiver::behaving(|_| Conduct::Answer(410, String::new())).await;
    let good = Receiver::start().await;
    let server = quick(3);
    let (key, account) = (server.key(), server.dev_output("accountId"));
    let webhook = server.make_webhook(key, &gone, &["message.delivered"]).await;
    drop(server.make_webhook(key, &good, &["webhook.*"]).await);
    server.send(key, &message("a@example.com")).await.message_id();
    let told = good.event("webhook.disabled").await.event();
    assert_eq!(told["data"]["webhookId"], webhook.id);
    assert_eq!(told["data"]["accountId"], account);
    let shown = server.webhook(key, &webhook.id).await;
    assert_eq!(shown["state"], "disabled");
    assert!(shown["reason"].as_str().is_some_and(|it| it.contains("410")), "{shown}");
    server.send(key, &message("b@example.com")).await.message_id();
    server.wait_for_mail_to("b@example.com").await;
    assert_eq!(server.deliveries(key, &webhook.id, "").await.len(), 1, "nothing more is for it");
    let below = format!("/{}/replay", webhook.id);
    let since = json!({"since": "2020-01-01T00:00:00Z"});
    let refused = server.webhooks(Method::POST, key, &below, &since).await;
    refused.assert_refused(409, "CONFLICT");
    assert_eq!(gone.posted().len(), 1);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let receiver = Receiver::behaving(move |_| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            Conduct::Answer(429, "retry-after: 4\r\n".to_owned())
        } else {
            Conduct::Answer(200, String::new())
        }
    })
    .await;
    let server = quick(3);
    drop(server.make_webhook(server.key(), &receiver, &["message.queued"]).await);
    server.send(server.key(), &message("a@example.com")).await.message_id();
    let posted = receiver.until("the second try", |all| all.len() == 2).await;
    let pause = posted[1].at - posted[0].at;
    assert!(pause >= Duration::from_millis(3_900), "a second would be the usual pause: {pause:?}");
    assert_eq!(posted[0].header("webhook-id"), posted[1].header("webhook-id"));
}

#[tokio::test]
async fn a_pause_that_an_endpoint_asks_for_holds_for_all_that_is_due() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let receiver = Receiver::behaving(move |_| {
        if asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 {
            Conduct::Answer(429, "retry-after: 3\r\n".to_owned())
        } else {
            Conduct::Answer(200, String::new())
        }
    })
    .await;
    let server = quick(3);
    let webhook = server.make_webhook(server.key(), &receiver, &["message.queued"]).await;
    let batch: Vec<Value> = (0..30).map(|n| message(&format!("n{n}@example.com"))).collect();
    assert_eq!(server.send_batch(server.key(), &batch.into()).await.body["success"], true);
    until_deliveries(&server, &webhook.id, "?state=delivered", 30).await;
    let posted = receiver.posted();
    assert_eq!(posted.len(), 32);
    for refused in posted.iter().take(2) {
        let until = refused.at + Duration::from_millis(2_900);
        let meanwhile = posted.iter().filter(|it| it.at > refused.at && it.at < until);
        assert!(meanwhile.count() <= 1, "only what was under way with it");
    }
}

#[tokio::test]
async fn what_was_not_taken_is_replayed_as_it_was() {
    let good = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_good = std::sync::Arc::clone(&good);
    let receiver = Receiver::behaving(move |_| {
        let is_good = is_good.load(std::sync::atomic::Ordering::SeqCst);
        Conduct::Answer(if is_good { 200 } else { 500 }, String::new())
    })
    .await;
    let server = quick(2);
    let key = server.key();
    let webhook = server.make_webhook(key, &receiver, &["message.queued"]).await;
    for n in 0..3 {
        server.send(key, &message(&format!("n{n}@example.com"))).await.message_id();
    }
    let failed = until_deliveries(&server, &webhook.id, "?state=failed", 3).await;
    assert!(
        failed.iter().all(|it| it["nextAttemptAt"].is_null() && it["type"] == "message.queued")
    );
    let shown = server.webhook(key, &webhook.id).await;
    assert_eq!((&shown["state"], &shown["succeededAt"]), (&json!("active"), &Value::Null));
    assert!(shown["failingSince"].is_string(), "{shown}");

    good.store(true, std::sync::atomic::Ordering::SeqCst);
    let one = failed[0]["id"].as_str().expect("an identifier");
    let below = format!("/{}/deliveries/{one}/replay", webhook.id);
    let replayed = server.webhooks(Method::POST, key, &below, &Value::Null).await;
    assert_eq!((replayed.status, &replayed.body["state"]), (200, &json!("pending")));
    until_deliveries(&server, &webhook.id, "?state=delivered", 1).await;
    let below = format!("/{}/replay", webhook.id);
    let future = json!({"since": "2100-01-01T00:00:00Z"});
    let none = server.webhooks(Method::POST, key, &below, &future).await;
    assert_eq!((none.status, &none.body["replayed"]), (200, &json!(0)));
    let past = json!({"since": failed[2]["createdAt"]});
    let rest = server.webhooks(Method::POST, key, &below, &past).await;
    assert_eq!(rest.body["replayed"], 2, "{}", rest.body);
    until_deliveries(&server, &webhook.id, "?state=delivered", 3).await;
    let posted = receiver.posted();
    let tries: Vec<_> = posted.iter().filter(|it| it.header("webhook-id") == one).collect();
    assert_eq!(tries.len(), 3);
    assert!(tries.iter().all(|it| it.body == tries[0].body));
    assert_eq!(of_type(&posted, "message.queued").len(), 9);
    let shown = server.webhook(key, &webhook.id).await;
    assert!(shown["succeededAt"].is_string() && shown["failingSince"].is_null(), "{shown}");

    let delivered = format!("/{}/deliveries/{one}/replay", webhook.id);
    server.webhooks(Method::POST, key, &delivered, &Value::Null).await;
    receiver.until("once more, although it was taken", |all| all.len() == 10).await;
}
