//! A template is held against what it says of itself before it is published, and at every send.

mod blocks;
mod compiler;
mod contract;
mod lifecycle;
mod hostile;
mod interrupted;
mod mjml;
mod recipients;
mod repository;
mod snippets;
mod types;

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

/// A call of the API with the key of `dev`.
async fn api(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let request = server.request(method, path).header("x-api-key", server.key());
    server.answer(if body.is_null() { request } else { request.json(body) }).await
}

/// Adds a template, layout or partial with a draft.
async fn create(server: &Server, path: &str, slug: &str, draft: Value) -> Value {
    let made = api(server, Method::POST, path, &json!({"slug": slug, "draft": draft})).await;
    assert_eq!(made.status, 201, "{slug}: {}", made.body);
    made.body
}

/// Publishes the one at that path.
async fn publish(server: &Server, path: &str, options: Value) -> Value {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = format!("{path}/publish?{query}");
    let told = api(server, Method::POST, path.trim_end_matches('?'), &options).await;
    assert_eq!(told.status, 200, "{path}: {}", told.body);
    told.body
}

/// A folder with a template that needs a total and items, described like that.
fn folder(server: &Server, description: &str) -> String {
    let folder = server.scratch("note");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder");
    let toml = format!("name = \"Note\"\ndescription = \"For a test.\"\n{description}");
    for (name, text) in [
        ("template.toml", toml.as_str()),
        ("subject.liquid", "{{ total }}"),
        ("text.liquid", "{% for item in items %}{{ item.count }}{% endfor %}"),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
    folder.display().to_string()
}

const DECLARED: &str = r#"
[[variable]]
path = "total"
type = "string"
required = true
description = "d"
[[variable]]
path = "items"
type = "array"
required = true
description = "d"
[[variable]]
path = "items[].count"
type = "number"
required = true
description = "d"
"#;

fn of_folder<'a>(account: &'a str, folder: &'a str) -> [&'a str; 8] {
    ["template", "create", "--account", account, "--slug", "note", "--folder", folder]
}

#[test]
fn an_example_that_the_template_refuses_is_not_published() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    for (example, words) in [
        ("[example]\nitems = [{ count = 1 }]\n", vec!["leaves out `total`"]),
        (
            "[example]\ntotal = 1\nitems = [{ count = 1 }, { count = \"2\" }]\n",
            vec!["total must be of the type string", "items[1].count must be of the type number"],
        ),
        ("[example]\ntotal = \" \"\nitems = [{ count = 1 }]\n", vec!["the subject is empty"]),
    ] {
        let path = folder(&server, &format!("{DECLARED}{example}"));
        let error = server.cli_fails(&of_folder(account, &path));
        assert!(words.iter().all(|it| error.contains(it)), "{words:?}: {error}");
    }
    let good = format!("{DECLARED}[example]\ntotal = \"1\"\nitems = [{{ count = 1 }}]\n");
    let made = server.cli(&of_folder(account, &folder(&server, &good)));
    assert_eq!(made["revision"], 1, "{made}");
}

#[test]
fn every_fault_of_the_declared_variables_is_told_at_once() {
    let server = Server::dev();
    let wrong = DECLARED.replacen("\"string\"", "\"text\"", 1).replace("\"number\"", "\"int\"");
    let twice = "[[variable]]\npath = \"total\"\ntype = \"string\"\nrequired = true\n\
                 description = \"d\"\n";
    let path = folder(&server, &format!("{wrong}{twice}"));
    let error = server.cli_fails(&of_folder(server.dev_output("accountId"), &path));
    for words in ["`text`", "`int`", "string, number, boolean, array, object", "`total` twice"] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[tokio::test]
async fn data_of_another_type_than_declared_is_refused_with_every_fault() {
    let server = Server::dev();
    drop(server.cli(&of_folder(server.dev_output("accountId"), &folder(&server, DECLARED))));
    let send = |data: Value| {
        let body =
            json!({"to": "a@example.com", "type": "EMAIL", "template": "note", "data": data});
        let server = &server;
        async move { server.send(server.key(), &body).await }
    };
    let answer = send(json!({"total": 1, "items": [{"count": "1"}, {}]})).await;
    answer.assert_faults(&["data.total", "data.items[0].count", "data.items[1].count"]);
    send(json!({"total": true, "items": 3})).await.assert_faults(&["data.total", "data.items"]);
    send(json!({"total": "1", "items": [{"count": 1}]})).await.message_id();
}

#[tokio::test]
async fn publishing_what_is_published_already_makes_no_new_version() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let first = server.cli(&of_folder(account, &folder(&server, DECLARED)));
    assert_eq!((&first["revision"], &first["unchanged"]), (&json!(1), &json!(false)));
    let same = server.cli(&of_folder(account, &folder(&server, DECLARED)));
    assert_eq!((&same["revision"], &same["unchanged"]), (&json!(1), &json!(true)));
    let other = DECLARED.replace("\"d\"", "\"e\"");
    let second = server.cli(&of_folder(account, &folder(&server, &other)));
    assert_eq!((&second["revision"], &second["unchanged"]), (&json!(2), &json!(false)));
}
