//! Who may steer the server, and how much it takes from them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use reqwest::Method;
use serde_json::Value;
use waxwing_tests::{Answer, Launch, Server};

use super::{Component, PLAN, note, reason, sent, server};

/// Everything that an operator may do.
const ROUTES: [(&str, &str); 16] = [
    ("GET", "/v1/plugins"),
    ("GET", "/v1/plugins/plan-policy"),
    ("GET", "/v1/plugins/plan-policy/logs"),
    ("PUT", "/v1/plugins/plan-policy/component"),
    ("POST", "/v1/plugins/plan-policy/activate"),
    ("POST", "/v1/plugins/plan-policy/rollback"),
    ("POST", "/v1/plugins/plan-policy/disable"),
    ("POST", "/v1/plugins/plan-policy/shadow?calls=1"),
    ("POST", "/v1/plugins/plan-policy/impact"),
    ("GET", "/v1/metrics"),
    ("GET", "/v1/queue"),
    ("GET", "/v1/queue/why?message={id}"),
    ("GET", "/v1/queue/why?domain=example.com"),
    ("GET", "/v1/decisions"),
    ("GET", "/v1/decisions/{id}"),
    ("POST", "/v1/decisions/{id}/replay"),
];

async fn ask(server: &Server, key: Option<&str>, method: &str, path: &str, body: &[u8]) -> Answer {
    let method = method.parse::<Method>().expect("a method");
    let mut request = server.request(method, path).body(body.to_vec());
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    server.answer(request).await
}

#[tokio::test]
async fn without_an_operators_key_nothing_is_shown_and_nothing_is_done() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let id = sent(&server, 1).await["id"].as_str().expect("an id").to_owned();
    let account = server.dev_output("accountId").to_owned();
    let (_, sender) = server.make_key(&account, &[]);
    server.send(&sender, &note(2)).await.message_id();
    for (method, path) in ROUTES {
        let takes_a_component =
            ["component", "impact", "replay"].iter().any(|it| path.ends_with(it));
        let body: &[u8] = if takes_a_component { &two.bytes } else { b"" };
        let path = path.replace("{id}", &id);
        let nobody = ask(&server, None, method, &path, body).await;
        nobody.assert_refused(401, "UNAUTHORIZED");
        let sender = ask(&server, Some(&sender), method, &path, body).await;
        sender.assert_refused(403, "FORBIDDEN");
        let text = format!("{}{}", nobody.body, sender.body);
        assert!(!text.contains("price-one"), "{path} tells nothing: {text}");
    }
    let view = server.slot(PLAN).await;
    assert_eq!((&view["active"]["digest"], &view["candidate"]), (&one.digest.into(), &Value::Null));
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn the_control_token_is_for_this_user_and_this_run() {
    let mut server = server();
    let file = server.data_dir().join("control.json");
    let read = || -> Value {
        serde_json::from_slice(&fs::read(&file).expect("the file is there")).expect("JSON")
    };
    let mode = fs::metadata(&file).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    let first = read();
    assert_eq!(first["http"], server.url());
    let first = first["token"].as_str().expect("a token").to_owned();
    assert_eq!(ask(&server, Some(&first), "GET", "/v1/plugins", b"").await.status, 200);
    // It steers; it does not send.
    server.send(&first, &note(1)).await.assert_refused(401, "UNAUTHORIZED");
    let almost = format!("{}0", first.get(..first.len() - 1).expect("ASCII"));
    if almost != first {
        let answer = ask(&server, Some(&almost), "GET", "/v1/plugins", b"").await;
        answer.assert_refused(401, "UNAUTHORIZED");
    }
    server.restart();
    let second = read()["token"].as_str().expect("a token").to_owned();
    assert_ne!(first, second);
    let old = ask(&server, Some(&first), "GET", "/v1/plugins", b"").await;
    old.assert_refused(401, "UNAUTHORIZED");
    assert_eq!(ask(&server, Some(&second), "GET", "/v1/plugins", b"").await.status, 200);
    assert!(!server.log().contains(&second) && !server.log().contains(&first));
}

#[tokio::test]
async fn a_component_over_the_limit_is_refused_by_either_way() {
    let launch = Launch::dev().with("plugins", "max_component_bytes", "100000");
    let server = super::with_note(Server::start(launch));
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let large = vec![0_u8; 100_001];
    let answer = server.install(PLAN, "", &large).await;
    answer.assert_refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(server.slot(PLAN).await["candidate"], Value::Null, "it is not written");
    server.place("plan-policy.wasm", &large);
    let words = server.rejected(PLAN, "plugins.max_component_bytes is 100000").await;
    assert!(words.contains("is too large"), "{words}");
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn what_is_no_component_is_taken_by_the_api_and_refused_by_the_slot() {
    let server = server();
    for (bytes, words) in [
        (b"<html>".to_vec(), "the file is not WebAssembly: it has 6 bytes"),
        (b"\0asm\x01\0\0\0".to_vec(), "core WebAssembly module"),
        (waxwing_guests::component("reads-file"), "wasi:filesystem"),
        (waxwing_guests::component("wrong-world"), "exports no kind of plugin"),
        (waxwing_guests::newer(), "0.2"),
    ] {
        let answer = server.install(PLAN, "", &bytes).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        server.rejected(PLAN, words).await;
        sent(&server, 1).await;
    }
    let nothing = server.install(PLAN, "", b"").await;
    assert_eq!(nothing.status, 400, "{}", nothing.body);
}
