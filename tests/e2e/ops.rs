//! What an operator watches: health, metrics, the document of the API, the log.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, until_async};

use crate::fixture::{message, run_python, with};

const BOUND: Duration = Duration::from_secs(20);

async fn page(server: &Server, path: &str) -> (u16, String) {
    let answer = server.request(Method::GET, path).send().await.expect("answered");
    (answer.status().as_u16(), answer.text().await.expect("a text"))
}

#[tokio::test]
async fn a_server_that_can_send_says_that_it_is_alive_and_ready() {
    let server = Server::dev();
    let alive = server.get("/healthz").await;
    assert_eq!((alive.status, &alive.body["status"]), (200, &json!("ok")));
    let ready = server.get("/readyz").await;
    assert_eq!((ready.status, &ready.body["status"]), (200, &json!("ok")));
    let plugins = ready.body["plugins"].to_string();
    for plugin in ["liquid-renderer", "plan-policy", "domain-policy"] {
        assert!(plugins.contains(plugin), "{plugins}");
    }
}

#[tokio::test]
async fn a_server_that_drains_is_not_ready_and_goes_on_until_its_time_is_over() {
    let mut server = Server::start(Launch::dev().with("http", "drain_seconds", "600"));
    assert_eq!(server.get("/readyz").await.status, 200);
    server.ask_to_stop();
    let is_unready = || async { (server.get("/readyz").await.status == 503).then_some(()) };
    until_async("a load balancer is told", BOUND, is_unready).await;
    server.get("/readyz").await.assert_refused(503, "UNAVAILABLE");
    assert_eq!(server.get("/healthz").await.status, 200);
    server.send(server.key(), &message("late@example.com")).await.message_id();
    server.wait_for_mail_to("late@example.com").await;
    server.ask_to_stop();
    assert!(server.wait_for_exit().success(), "a second signal does not wait");
}

#[tokio::test]
async fn the_metrics_time_every_step_of_the_journey_and_count_refusals() {
    let server = Server::dev();
    server.send(server.key(), &message("a@example.com")).await.message_id();
    server.send(server.key(), &message("nobody")).await.assert_faults(&["to"]);
    server.send("wrong", &message("a@example.com")).await.assert_refused(401, "UNAUTHORIZED");
    let server = &server;
    let settled = || async move {
        let (status, metrics) = page(server, "/metrics").await;
        assert_eq!(status, 200);
        metrics.contains("waxwing_deliveries_total{state=\"delivered\"} 1").then_some(())
    };
    until_async("the delivery is counted", BOUND, settled).await;
    let empty = || async move {
        let (_, metrics) = page(server, "/metrics").await;
        metrics.lines().any(|line| line == "waxwing_queue_length 0").then_some(metrics)
    };
    let metrics = until_async("the queue is empty", BOUND, empty).await;
    for step in ["accept", "policy", "render", "commit", "deliver"] {
        let count = format!("waxwing_step_seconds_count{{step=\"{step}\"}}");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&count));
        let counted = line.and_then(|it| it.trim().parse::<u64>().ok());
        assert!(counted.is_some_and(|it| it >= 1), "{step}: {metrics}");
        let bucket = format!("waxwing_step_seconds_bucket{{step=\"{step}\",le=");
        assert!(metrics.contains(&bucket), "{step} is a histogram");
    }
    for refusal in ["BAD_REQUEST", "UNAUTHORIZED"] {
        let counter = format!("waxwing_refusals_total{{code=\"{refusal}\"}} 1");
        assert!(metrics.contains(&counter), "{counter} in {metrics}");
    }
    assert!(!metrics.contains("example.com"), "no address becomes a label");
}

#[tokio::test]
async fn a_refusal_within_a_batch_is_counted_like_any_other() {
    let server = Server::dev();
    let batch = json!([message("nobody"), message("no one"), message("a@example.com")]);
    assert_eq!(server.send_batch(server.key(), &batch).await.status, 200);
    let (_, metrics) = page(&server, "/metrics").await;
    let counter = "waxwing_refusals_total{code=\"BAD_REQUEST\"} 2";
    assert!(metrics.contains(counter), "{counter} in {metrics}");
}

#[tokio::test]
async fn the_document_of_the_api_is_valid_and_has_what_the_contract_has() {
    let server = Server::dev();
    let document = server.openapi().await.expect("a document");
    assert!(document["openapi"].as_str().is_some_and(|it| it.starts_with("3.1.")), "{document}");
    let send = &document["paths"]["/messages/send"]["post"];
    let batch = &document["paths"]["/messages/send/batch"]["post"];
    let refusals = [400, 401, 402, 403, 408, 409, 413, 415, 422, 429, 500, 503];
    for (operation, success) in [(send, 201), (batch, 200)] {
        for status in refusals.into_iter().chain([success]) {
            assert!(operation["responses"].get(status.to_string()).is_some(), "{status}");
        }
    }
    let schemas = &document["components"]["schemas"];
    let request = &schemas["SendRequest"];
    assert_eq!(request["required"], json!(["to", "type", "template", "data"]));
    for field in [
        "to",
        "type",
        "template",
        "data",
        "fromName",
        "from",
        "replyTo",
        "tags",
        "metadata",
        "sendAt",
        "attachments",
        "headers",
    ] {
        assert!(request["properties"].get(field).is_some(), "{field}");
    }
    for member in
        ["type", "title", "status", "detail", "instance", "success", "code", "message", "requestId"]
    {
        assert!(schemas["Problem"]["properties"].get(member).is_some(), "{member}");
    }
    validate(document);
}

/// With `openapi-spec-validator`.
fn validate(document: &Value) {
    const SCRIPT: &str = "
import json, sys
from openapi_spec_validator import OpenAPIV31SpecValidator
errors = OpenAPIV31SpecValidator(json.load(sys.stdin)).iter_errors()
print(json.dumps([str(error)[:500] for error in errors]))
";
    let Some(python) = waxwing_tools::python("/openapi.json, by openapi-spec-validator") else {
        return;
    };
    assert_eq!(run_python(&python, SCRIPT, document.to_string().as_bytes()), json!([]));
}

#[tokio::test]
async fn the_log_tells_what_happened_and_holds_no_address_no_key_and_no_body() {
    let mut server = Server::start(Launch::dev().with("log", "filter", "debug"));
    let key = server.key().to_owned();
    let mut body = message("secret.recipient@example.com");
    body["data"]["code"] = json!("body-content-zanzibar");
    body["fromName"] = json!("Name-of-sender-zanzibar");
    body["replyTo"] = json!("secret.reply@example.com");
    body["metadata"] = json!({"a": "metadata-zanzibar"});
    let id = server.send_once(&key, &body, "idempotency-zanzibar").await.message_id();
    server.wait_for_mails(1).await;
    let guess = format!("wx_live_7531abcd_{}", "Q".repeat(32));
    let refusals = [
        server.send(&guess, &body).await,
        server.send(&key, &with(body.clone(), "to", json!("secret.bad@@example.com"))).await,
        server.send(&key, &with(body.clone(), "from", json!("secret.from@stranger.example"))).await,
        server.send(&key, &with(body.clone(), "data", json!({"x": "body-content-zanzibar"}))).await,
    ];
    server.terminate();
    server.restart();
    server.send(&key, &message("secret.second@example.com")).await.message_id();
    server.wait_for_mails(2).await;

    let log = server.log();
    for told in refusals.iter().filter_map(|answer| answer.body["requestId"].as_str()) {
        assert!(log.contains(told), "the request {told} is found in the log");
    }
    assert!(log.contains(&id), "and so is the message");
    let (_, secret) = key.rsplit_once('_').expect("a key has parts");
    let ours = ["hello@sandbox.test", "secret.", "zanzibar", secret];
    let guilty: Vec<&str> =
        log.lines().filter(|line| ours.iter().any(|word| line.contains(word))).take(5).collect();
    assert!(guilty.is_empty(), "the log tells too much: {guilty:#?}");
}
