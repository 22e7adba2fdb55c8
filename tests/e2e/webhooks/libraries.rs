//! The official libraries of Standard Webhooks, for Node and for Python, take what the server posts and
//! refuse what it did not. The one for Node is installed once, in the target directory.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Posted, Receiver, Server};

use crate::fixture::{message, python, with};

const PACKAGE: [(&str, &str); 2] = [
    ("package.json", include_str!("package.json")),
    ("package-lock.json", include_str!("package-lock.json")),
];

/// What each library says of each request.
type Verify = fn(&Value) -> Vec<String>;

#[tokio::test]
async fn the_library_for_node_verifies_what_is_posted_and_nothing_else() {
    // First, because it may take minutes, and signatures grow old.
    install();
    verifies(by_node).await;
}

#[tokio::test]
async fn the_library_for_python_verifies_what_is_posted_and_nothing_else() {
    verifies(by_python).await;
}

async fn verifies(verify: Verify) {
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
    let results = verify(&json!(requests));
    assert_eq!(results.len(), cases.len());
    for ((_, _, good), (n, result)) in cases.iter().zip(results.iter().enumerate()) {
        assert_eq!(result == "verified", *good, "case {n}: {result}");
    }
}

fn request(posted: &Posted, secret: &str) -> Value {
    json!({"secret": secret, "headers": posted.headers, "body": posted.body})
}

fn by_python(requests: &Value) -> Vec<String> {
    let said = python(include_str!("verify.py"), requests.to_string().as_bytes());
    serde_json::from_value(said).expect("a list of texts")
}

fn by_node(requests: &Value) -> Vec<String> {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    let folder = INSTALLED.get_or_init(install);
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

/// Installs what the lock file names, where that is not there yet.
fn install() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("webhooks");
    fs::create_dir_all(&folder).expect("a folder");
    // Two runs of the tests must not install into one folder at a time.
    let lock = File::create(folder.join("lock")).expect("a file");
    lock.lock().expect("the folder is ours after a while");
    let done = folder.join("done");
    if fs::read_to_string(&done).is_ok_and(|of| of == PACKAGE[1].1) {
        return folder;
    }
    for (name, text) in PACKAGE {
        fs::write(folder.join(name), text).expect("a file is written");
    }
    let npm = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&folder)
        .output()
        .expect("npm is installed");
    assert!(npm.status.success(), "npm: {}", String::from_utf8_lossy(&npm.stderr));
    fs::write(done, PACKAGE[1].1).expect("a file is written");
    folder
}
