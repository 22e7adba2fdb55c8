//! The official libraries of Standard Webhooks, for Node and for Python, take what the server posts and
//! refuse what it did not.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Posted, Receiver, Server};
use waxwing_tools::node_packages;

use crate::fixture::{message, run_python, with};

/// What each library says of each request; `tool` is where the library is installed.
type Verify = fn(tool: &Path, &Value) -> Vec<String>;

#[tokio::test]
async fn the_library_for_node_verifies_what_is_posted_and_nothing_else() {
    let (package, lock) = (include_str!("package.json"), include_str!("package-lock.json"));
    // First, because the installation may take minutes, and signatures grow old.
    let installed = node_packages("webhooks", package, lock, "Standard Webhooks' library for Node");
    let Some(folder) = installed else { return };
    verifies(by_node, &folder).await;
}

#[tokio::test]
async fn the_library_for_python_verifies_what_is_posted_and_nothing_else() {
    let Some(python) = waxwing_tools::python("Standard Webhooks' library for Python") else {
        return;
    };
    verifies(by_python, &python).await;
}

async fn verifies(verify: Verify, tool: &Path) {
    let receiver = Receiver::start().await;
    let server = Server::start(Launch::posting_here());
    let first = server.make_webhook(server.key(), &receiver, &["message.delivered"]).await;
    // Not only ASCII: the signature is over the bytes of the body.
    let words = with(message("grüße@example.com"), "fromName", json!("Łódź 🐦"));
    let words = with(words, "metadata", json!({"note": "naïve \" \\ \u{2028} </script>"}));
    server.send(server.key(), &words).await.message_id();
    let before = receiver.event("message.delivered").await;

    let below = format!("/{}/rotate", first.id);
    let rotated = server.webhooks(Method::POST, server.key(), &below, &Value::Null).await;
    let second = rotated.body["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(second, first.secret);
    server.send(server.key(), &message("second@example.com")).await.message_id();
    let posted = receiver.until("the second message", |all| all.len() == 2).await;
    let during = &posted[1];
    assert_eq!(during.header("webhook-signature").split(' ').count(), 2, "both secrets sign");

    let stranger = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let mut tampered = before.clone();
    tampered.body = tampered.body.replace("delivered", "delivereD");
    let mut renamed = before.clone();
    renamed.headers.insert("webhook-id".to_owned(), "evt_other".to_owned());
    let mut old = before.clone();
    old.headers.insert("webhook-timestamp".to_owned(), "1600000000".to_owned());
    let cases = [
        (&before, first.secret.as_str(), true),
        (&before, &second, false),
        (during, &first.secret, true),
        (during, &second, true),
        (during, stranger, false),
        (&before, stranger, false),
        (&tampered, &first.secret, false),
        (&renamed, &first.secret, false),
        (&old, &first.secret, false),
    ];
    let requests: Vec<Value> = cases.iter().map(|(it, secret, _)| request(it, secret)).collect();
    let results = verify(tool, &json!(requests));
    assert_eq!(results.len(), cases.len());
    for ((_, _, good), (n, result)) in cases.iter().zip(results.iter().enumerate()) {
        assert_eq!(result == "verified", *good, "case {n}: {result}");
    }
}

fn request(posted: &Posted, secret: &str) -> Value {
    json!({"secret": secret, "headers": posted.headers, "body": posted.body})
}

fn by_python(python: &Path, requests: &Value) -> Vec<String> {
    let said = run_python(python, include_str!("verify.py"), requests.to_string().as_bytes());
    serde_json::from_value(said).expect("a list of texts")
}

fn by_node(folder: &Path, requests: &Value) -> Vec<String> {
    let mut child = Command::new("node")
        .args(["--input-type=module", "--eval", include_str!("verify.mjs")])
        .current_dir(folder)
        .env_remove("NODE_OPTIONS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node is installed");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(requests.to_string().as_bytes()).expect("the script reads");
    drop(input);
    let output = child.wait_with_output().expect("the script ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the script fails: {errors}");
    serde_json::from_slice(&output.stdout).expect("a list of texts")
}
