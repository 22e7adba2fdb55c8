//! The order of checks of the contract: a request with many faults gets the first refusal, and
//! none of them charges or stores anything.

use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Answer, Launch, Server};

use crate::fixture::{Database, Template, message, publish, with};

#[tokio::test]
async fn a_send_with_every_fault_gets_its_refusals_in_the_contracts_order() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    let greeting = Template { subject: "Hi {{ name }}", text: Some("Hi"), ..Template::default() };
    publish(&server, &account.id, "premium", &greeting, &["--required-plan", "pro"]);
    let mut body = json!({
        "to": "nobody", "type": "EMAIL", "template": "unknown", "data": {},
        "from": "me@stranger.example.com",
    });
    let send = async |body: &serde_json::Value| -> Answer {
        let answer = server.send(&account.key, body).await;
        if answer.status != 201 {
            assert!(server.messages(&account.id).is_empty(), "a refusal stores nothing");
        }
        answer
    };

    send(&body).await.assert_faults(&["to", "template"]);
    body["to"] = json!("ada@example.com");
    send(&body).await.assert_faults(&["template"]);
    body["template"] = json!("premium");
    send(&body).await.assert_refused(403, "RESTRICTED_TEMPLATE");
    drop(server.cli(&["account", "update", &account.id, "--plan", "pro"]));
    send(&body).await.assert_refused(403, "DOMAIN_NOT_VERIFIED");
    body["from"] = json!("me@sandbox.test");
    send(&body).await.assert_faults(&["data.name"]);
    body["data"]["name"] = json!("Ada");
    send(&body).await.assert_refused(402, "INSUFFICIENT_BALANCE");
    server.grant(&account.id, 1);
    send(&body).await.message_id();

    assert_eq!(server.messages(&account.id).len(), 1);
    assert_eq!(server.balance(&account.id), 0);
    let database = Database::of(&server).await;
    database.assert_sound().await;
    let recorded = database.texts("SELECT outcome FROM decisions").await;
    for code in ["RESTRICTED_TEMPLATE", "DOMAIN_NOT_VERIFIED", "BAD_REQUEST"] {
        assert!(recorded.iter().any(|it| it == code), "{code} is recorded in {recorded:?}");
    }
}

#[tokio::test]
async fn the_size_is_looked_at_before_the_key_and_the_key_before_the_body() {
    let server = Server::start(Launch::dev().with("limits", "body_bytes", "1000"));
    let post = async |key: &str, body: String| {
        let request = server.request(Method::POST, "/messages/send").header("x-api-key", key);
        server.answer(request.header("content-type", "application/json").body(body)).await
    };
    post("wrong", "x".repeat(2_000)).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
    post("wrong", "{not json".to_owned()).await.assert_refused(401, "UNAUTHORIZED");
    post(server.key(), "{not json".to_owned()).await.assert_faults(&[""]);
}

#[tokio::test]
async fn the_rate_limit_is_looked_at_before_the_body() {
    let launch = Launch::dev().with("limits", "sends_per_second", "1");
    let server = Server::start(launch.with("limits", "send_burst", "1"));
    let mut codes = Vec::new();
    for _ in 0..10 {
        codes.push(server.send(server.key(), &json!({})).await.code().to_owned());
    }
    assert!(codes.iter().any(|code| code == "RATE_LIMITED"), "{codes:?}");
}

#[tokio::test]
async fn suppression_is_looked_at_before_the_balance() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    drop(server.cli(&["message", "suppress", "--account", &account.id, "gone@example.com"]));
    let missing = with(message("gone@example.com"), "data", json!({}));
    server.send(&account.key, &missing).await.assert_faults(&["data.code"]);
    server.send(&account.key, &message("gone@example.com")).await.message_id();
}
