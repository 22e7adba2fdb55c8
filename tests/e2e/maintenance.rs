//! Read-only mode: what is refused, in which words, what works all the same, and that a restart keeps it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Port, Server, Smtp, from_now, until_async};

use crate::fixture::{Database, message, with};

const BOUND: Duration = Duration::from_mins(1);
const REASON: &str = "moving to a new disk";
const REFUSED: &str = "the server takes no messages and no changes for now: moving to a new disk";

async fn set(server: &Server, body: &Value) -> Answer {
    let request = server.request(Method::PUT, "/v1/maintenance");
    server.answer(request.header("x-api-key", server.key()).json(body)).await
}

fn assert_read_only(answer: &Answer) {
    answer.assert_refused(503, "UNAVAILABLE");
    assert_eq!(answer.body["message"], REFUSED);
    assert_eq!(answer.header("retry-after"), Some("60"));
}

#[tokio::test]
async fn a_change_whose_body_is_on_its_way_is_refused_as_well() {
    let server = Server::dev();
    let headers = [("x-api-key", server.key()), ("content-type", "application/json")];
    let body = json!({"name": "Shop"}).to_string();
    let begun = server.begin("POST /v1/keys", &headers, body.as_bytes()).await;
    assert_eq!(set(&server, &json!({"readOnly": true, "reason": REASON})).await.status, 200);
    let answer = begun.expect("the server asks for the body").end().await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains(REFUSED), "{answer}");
}

#[tokio::test]
async fn messages_and_changes_are_refused_and_reads_work_over_a_restart() {
    let mut server = Server::dev();
    let id = server.send(server.key(), &message("before@example.com")).await.message_id();
    let on = server.cli(&["maintenance", "on", "--reason", REASON]);
    assert_eq!((&on["readOnly"], &on["holdsDelivery"]), (&json!(true), &json!(false)));
    for _ in 0..2 {
        let key = server.key().to_owned();
        assert_read_only(&server.send(&key, &message("ada@example.com")).await);
        assert_read_only(&server.send_batch(&key, &json!([message("ada@example.com")])).await);
        let change = json!({"name": "Shop"});
        assert_read_only(&server.post("/v1/keys", &key, &change, &[]).await);
        let mut client = Smtp::secured(&server, Port::StartTls).await;
        client.log_in(&key).await.assert(235);
        let refused = client.say("MAIL FROM:<hello@sandbox.test>").await;
        refused.assert_begins(&format!("451 4.3.2 UNAVAILABLE {REFUSED}"));

        assert_eq!(server.get_as(&key, &format!("/v1/messages/{id}")).await.status, 200);
        let shown = server.get_as(&key, "/v1/maintenance").await.body;
        assert_eq!((&shown["readOnly"], &shown["reason"]), (&json!(true), &json!(REASON)));
        assert_eq!(shown["since"], on["since"]);
        let ready = server.get("/readyz").await;
        assert_eq!((ready.status, &ready.body["maintenance"]["reason"]), (200, &json!(REASON)));
        let validate = "/v1/templates/verification-code/validate";
        let tried = server.post(validate, &key, &json!({}), &[]).await;
        assert_eq!(tried.status, 200, "it changes nothing: {}", tried.body);
        let checked = server.post("/v1/health/check", &key, &json!({}), &[]).await;
        assert_eq!(checked.status, 200, "nor does this: {}", checked.body);
        server.restart();
    }
    assert!(server.log().contains("read-only mode is on"), "{}", server.log());
    // Delivery goes on by itself.
    server.wait_for_mail_to("before@example.com").await;
    let off = server.cli(&["maintenance", "off"]);
    assert_eq!((&off["readOnly"], &off["reason"]), (&json!(false), &Value::Null));
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    server.wait_for_mail_to("ada@example.com").await;
    assert!(server.get("/readyz").await.body["maintenance"].is_null());
    let audit = "SELECT action FROM audit WHERE action = 'set_maintenance' ORDER BY id";
    assert_eq!(Database::of(&server).await.texts(audit).await.len(), 2);
}

#[tokio::test]
async fn an_operator_holds_delivery_over_http_and_lets_it_go_on() {
    let server = Server::dev();
    set(&server, &json!({"readOnly": true})).await.assert_faults(&["reason"]);
    set(&server, &json!({"reason": "x"})).await.assert_faults(&["readOnly"]);
    let lines = json!({"readOnly": true, "reason": "a\r\n250 OK"});
    set(&server, &lines).await.assert_faults(&["reason"]);
    let soon = json!(from_now(Duration::from_secs(6)));
    let later = with(message("later@example.com"), "sendAt", soon);
    let id = server.send(server.key(), &later).await.message_id();
    let on = json!({"readOnly": true, "reason": REASON, "holdDelivery": true});
    let held = set(&server, &on).await;
    assert_eq!((held.status, &held.body["holdsDelivery"]), (200, &json!(true)), "{}", held.body);
    let waits = || async {
        let why = server.cli(&["queue", "why", &id]);
        (why["waitsFor"] == "maintenance").then_some(why)
    };
    let why = until_async("it is due, and held", BOUND, waits).await;
    assert!(why["advice"].as_str().is_some_and(|it| it.contains("maintenance off")), "{why}");
    assert!(server.inbox().await.is_empty());
    let metrics = server.get_as(server.key(), "/v1/metrics");
    assert_eq!(metrics.await.status, 200);
    let off = set(&server, &json!({"readOnly": false})).await;
    assert_eq!((off.status, &off.body["readOnly"]), (200, &json!(false)));
    server.wait_for_mail_to("later@example.com").await;
    let audit = "SELECT actor || ' ' || action FROM audit WHERE action = 'set_maintenance'";
    assert_eq!(Database::of(&server).await.texts(audit).await, ["key set_maintenance"; 2]);
}
