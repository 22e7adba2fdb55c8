//! The document of the API and the API, held against each other by schemathesis: what the document
//! allows is accepted, what it forbids is refused, and every answer is one that it knows.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, from_now, name_server};

use crate::fixture::{Database, message, with};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/openapi_fuzz");

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing() {
    let Some(python) = waxwing_tools::python("the API against /openapi.json, by schemathesis")
    else {
        return;
    };
    let dns = name_server().await;
    // It tries every operation without a key, and that is not to be slowed down.
    let server = Server::start(Launch::asking(&dns).with("limits", "failed_logins", "1000000"));
    let folder = server.scratch("fuzz");
    configure(&folder, &things(&server).await, &own_key(&server).await);
    let (url, key) = (server.url().to_owned(), server.key().to_owned());
    let ran = tokio::task::spawn_blocking(move || run(&python, &folder, &url, &key)).await;
    let Output { status, stdout, .. } = ran.expect("it ends");
    let report = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{report}");

    // Whatever was deleted, disabled and rolled back: it still sends, and all of it adds up.
    let mut server = server;
    server.restart();
    let account = server.dev_output("accountId").to_owned();
    let domain = ["domain", "add", "--account", &account, "after.test", "--sandbox"];
    drop(server.cli(&domain));
    let after = with(message("after@example.com"), "from", json!("me@after.test"));
    // The brand may be another by now.
    let after = with(after, "data", json!({"code": "481 902", "product_name": "Tern & Co"}));
    server.send(server.key(), &after).await.message_id();
    server.wait_for_mail_to("after@example.com").await;
    Database::of(&server).await.assert_sound().await;
}

/// Things that are there, so that half of all requests are about one.
async fn things(server: &Server) -> Vec<(&'static str, Vec<String>)> {
    let key = server.key();
    let mut messages = Vec::new();
    for to in ["a@example.com", "b@example.com"] {
        messages.push(server.send(key, &message(to)).await.message_id());
    }
    let tomorrow = json!(from_now(Duration::from_hours(24)));
    for to in ["c@example.com", "d@example.com"] {
        let later = with(message(to), "sendAt", tomorrow.clone());
        messages.push(server.send(key, &later).await.message_id());
    }
    let post = async |path: &str, body: Value| server.post(path, key, &body, &[]).await.body;
    post("/v1/suppressions", json!({"address": "gone@example.com"})).await;
    post("/v1/domains", json!({"name": "fuzzed.example"})).await;
    let draft = json!({"subject": "s", "text": "t"});
    post("/v1/templates", json!({"slug": "fuzzed", "draft": draft})).await;
    for path in ["/v1/layouts", "/v1/partials"] {
        post(path, json!({"slug": "fuzzed", "draft": {"html": "x"}})).await;
    }
    let webhook = post("/v1/webhooks", json!({"url": "https://fuzzed.example/hook"})).await;
    let spare = post("/v1/keys", json!({"name": "Fuzzed"})).await;
    let opened = post("/v1/accounts", json!({"name": "Fuzzed"})).await;
    let invited = json!({"email": "fuzzed@example.com", "operator": true});
    let invited = post("/v1/users", invited).await;
    let id = |it: &Value| it["id"].as_str().into_iter().map(str::to_owned).collect();
    let slots = server.request(Method::GET, "/v1/plugins").header("x-api-key", key);
    let slots = server.answer(slots).await.body;
    let slots = slots["data"].as_array().expect("slots").iter();
    vec![
        ("id", messages),
        ("address", vec!["gone@example.com".to_owned()]),
        ("domain", vec!["fuzzed.example".to_owned()]),
        ("webhook", id(&webhook)),
        ("key", id(&spare)),
        ("account", id(&opened)),
        ("user", id(&invited)),
        ("slug", vec!["fuzzed".to_owned()]),
        ("slot", slots.filter_map(|it| it["slot"].as_str()).map(str::to_owned).collect()),
    ]
}

/// The identifier of the key that all requests are made with.
async fn own_key(server: &Server) -> String {
    let keys = server.get_as(server.key(), "/v1/keys").await.body;
    let keys = keys["data"].as_array().expect("keys").iter();
    let is_own = |it: &&Value| it["prefix"].as_str().is_some_and(|it| server.key().starts_with(it));
    let id = keys.into_iter().find(is_own).and_then(|it| it["id"].as_str());
    id.expect("it sees itself").to_owned()
}

/// The configuration, and these things as dictionaries.
fn configure(folder: &Path, things: &[(&str, Vec<String>)], own_key: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let read = |name: &str| fs::read_to_string(Path::new(FOLDER).join(name)).expect("readable");
    let mut toml = read("schemathesis.toml");
    for (name, values) in things {
        let (name, values) = (json!(name), json!(values));
        toml = format!("{toml}\n[dictionaries.{name}]\nvalues = {values}\n");
    }
    toml.push_str("\n[parameters]\n");
    for (name, _) in things {
        let bound = format!("{{ dictionary = \"{name}\", probability = 0.5 }}");
        toml = format!("{toml}\"path.{name}\" = {bound}\n");
    }
    fs::write(folder.join("schemathesis.toml"), toml).expect("written");
    let hooks = read("hooks.py").replace("{own key}", own_key);
    fs::write(folder.join("hooks.py"), hooks).expect("written");
}

fn run(python: &Path, folder: &Path, url: &str, key: &str) -> Output {
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.args(["--no-color", "run", &format!("{url}/openapi.json"), "--checks", "all"]);
    command.args(["--seed", "1", "--header", &format!("x-api-key: {key}")]);
    command.current_dir(folder).output().expect("it runs")
}
