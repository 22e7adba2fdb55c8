//! `/v1/queue/{domain}/retry`: what the button of a destination's page does.

use std::time::Duration;

use serde_json::json;
use waxwing_tests::{Launch, Server, until_async};

use super::{holder, operator, post, text};
use crate::dashboard::Browser;
use crate::fixture::message;

#[tokio::test]
async fn an_operator_has_a_destination_tried_now_over_http_as_by_its_page() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let server = Server::start(down.with("delivery", "retry_pauses_s", "[600]"));
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let path = format!("/v1/messages/{sent}");
    let is_deferred_after = async |attempts: usize| {
        let shown = server.get_as(server.key(), &path).await.body;
        let made = shown["attempts"].as_array().map_or(0, Vec::len);
        (shown["state"] == "deferred" && made >= attempts).then_some(())
    };
    let wait = Duration::from_secs(30);
    let first = async || is_deferred_after(1).await;
    until_async("the message is deferred", wait, first).await;
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/ops/queue/sandbox").await;
    assert!(page.html.contains("/ops/queue/sandbox/try"), "{}", page.html);
    let tried = post(&server, server.key(), "/v1/queue/sandbox/retry", json!({})).await;
    let wanted = json!({"domain": "sandbox", "retried": 1});
    assert_eq!((tried.status, tried.body), (200, wanted));
    let second = async || is_deferred_after(2).await;
    until_async("the message is tried once more", wait, second).await;
    let log = server.get_as(server.key(), "/v1/audit?text=retry%20destination&limit=1").await.body;
    assert_eq!(text(&log["data"][0]["action"]), "retry_destination", "{log}");
    assert_eq!(text(&log["data"][0]["subject"]), "sandbox", "{log}");
}

#[tokio::test]
async fn only_an_operator_has_a_destination_tried_and_only_one_that_can_be() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let retry = async |key: &str, domain: &str| {
        post(&server, key, &format!("/v1/queue/{domain}/retry"), json!({})).await
    };
    retry(&account.key, "example.org").await.assert_refused(403, "FORBIDDEN");
    retry(&operator, "no%20domain").await.assert_refused(404, "NOT_FOUND");
    let nothing = retry(&operator, "Example.ORG.").await;
    assert_eq!(nothing.body, json!({"domain": "example.org", "retried": 0}));
}
