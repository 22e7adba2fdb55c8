//! Behind a reverse proxy: whose address counts for keys that are bound to one, and for failed logins.

use reqwest::Method;
use waxwing_tests::{Answer, Launch, Server};

use crate::fixture::message;

const CLIENT: &str = "198.51.100.7";
const OTHER: &str = "203.0.113.9";

/// A send that a proxy on this machine passes on for a client.
async fn send_for(server: &Server, client: &str, key: &str) -> Answer {
    let request = server.request(Method::POST, "/messages/send").header("x-api-key", key);
    let request = request.header("x-forwarded-for", client);
    server.answer(request.json(&message("ada@example.com"))).await
}

fn behind_a_proxy() -> Server {
    let launch = Launch::dev().with("http", "trusted_proxies", r#"["127.0.0.0/8", "::1"]"#);
    Server::start(launch.with("limits", "failed_logins", "3"))
}

#[tokio::test]
async fn a_key_that_is_bound_to_an_address_works_from_there_behind_a_proxy() {
    let server = behind_a_proxy();
    let account = server.open_account("pro", 10);
    let (_, bound) = server.make_key(&account.id, &["--ip", CLIENT]);
    send_for(&server, CLIENT, &bound).await.message_id();
    send_for(&server, OTHER, &bound).await.assert_refused(403, "FORBIDDEN");
    let claimed = format!("{CLIENT}, {OTHER}");
    send_for(&server, &claimed, &bound).await.assert_refused(403, "FORBIDDEN");
    server.send(&bound, &message("ada@example.com")).await.assert_refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn without_a_trusted_proxy_the_header_says_nothing() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let (_, bound) = server.make_key(&account.id, &["--ip", CLIENT]);
    send_for(&server, CLIENT, &bound).await.assert_refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn failed_logins_behind_a_proxy_are_counted_by_client() {
    let server = behind_a_proxy();
    let wrong = format!("wx_live_00000000_{}", "0".repeat(32));
    for _ in 0..3 {
        send_for(&server, CLIENT, &wrong).await.assert_refused(401, "UNAUTHORIZED");
    }
    let slowed = send_for(&server, CLIENT, &wrong).await;
    slowed.assert_refused(429, "RATE_LIMITED");
    let words = slowed.body["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("the API key is not valid"),
        "it is told that the key is wrong: {words}"
    );
    send_for(&server, OTHER, &wrong).await.assert_refused(401, "UNAUTHORIZED");
    send_for(&server, CLIENT, server.key()).await.message_id();
}
