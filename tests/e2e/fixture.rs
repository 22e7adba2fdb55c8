//! What the tests send, publish, run and look into.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use waxwing_mx::MxServer;
use waxwing_tests::Server;

pub use waxwing_tests::{Database, UNSOUND, told};

/// A message that every account of the harness may send.
pub fn message(to: &str) -> Value {
    json!({"to": to, "type": "EMAIL", "template": "verification-code", "data": {"code": "481 902"}})
}

/// The message with a field of another value.
pub fn with(mut message: Value, field: &str, value: Value) -> Value {
    message[field] = value;
    message
}

/// A template as its author writes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Template<'a> {
    pub subject: &'a str,
    pub html: Option<&'a str>,
    pub text: Option<&'a str>,
}

/// Publishes a template of an account, with further arguments for the command line.
pub fn publish(
    server: &Server,
    account: &str,
    slug: &str,
    template: &Template<'_>,
    arguments: &[&str],
) -> Value {
    let folder = server.scratch(slug);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder");
    write("template.toml", "name = \"Test\"\ndescription = \"For a test.\"\n");
    write("subject.liquid", template.subject);
    if let Some(html) = template.html {
        write("html.liquid", html);
    }
    if let Some(text) = template.text {
        write("text.liquid", text);
    }
    let folder = folder.to_str().expect("a path of UTF-8");
    let mut all = vec!["template", "create", "--account", account, "--slug", slug];
    all.extend(["--folder", folder]);
    all.extend(arguments);
    server.cli(&all)
}

/// Puts a text that never ends into a published version, as a server left it there that did not try templates without
/// examples: today publishing refuses it.
pub async fn publish_harmful(server: &Server, account: &str, slug: &str, text: &str) {
    let harmless = Template { subject: "s", text: Some("harmless"), ..Template::default() };
    publish(server, account, slug, &harmless, &[]);
    let database = Database::changing(server).await;
    let version = format!(
        "template_id = (SELECT id FROM templates WHERE kind = 'template' AND slug = '{slug}')"
    );
    let query = format!("SELECT source FROM template_versions WHERE {version}");
    let source = database.texts(query.as_str()).await.remove(0);
    let mut source: Value = serde_json::from_str(&source).expect("a source is JSON");
    source["text"] = text.into();
    let source = source.to_string().replace('\'', "''");
    let statement = format!("UPDATE template_versions SET source = '{source}' WHERE {version}");
    assert_eq!(database.change(statement.as_str()).await.expect("written"), 1);
    database.close().await;
}

/// Runs a script that reads `input` and prints JSON, in this Python.
pub fn run_python(python: &Path, script: &str, input: &[u8]) -> Value {
    let printed = waxwing_tools::run_python(python, script, input);
    serde_json::from_str(&printed).expect("the script prints JSON")
}

/// The list of `delivery.smarthosts` that has this smarthost alone.
pub fn smarthosts(smarthost: &MxServer) -> String {
    let port = smarthost.address().port();
    format!("[{{ name = \"post\", host = \"127.0.0.1\", port = {port}, security = \"none\" }}]")
}

/// Runs statements on the server's database, as another process would that works for the operator; answers how many rows
/// they have changed.
pub async fn change(server: &Server, sql: &str) -> u64 {
    let database = Database::changing(server).await;
    let changed = database.change(sql).await.expect("the statements are right");
    database.close().await;
    changed
}

/// Nothing of what was refused is in the account of `dev`, and the next good send works.
pub async fn assert_unharmed(server: &Server, accepted: usize) {
    server.send(server.key(), &message("good@example.com")).await.message_id();
    server.wait_for_mail_to("good@example.com").await;
    assert_eq!(server.messages(server.dev_output("accountId")).len(), accepted + 1);
    Database::of(server).await.assert_sound().await;
}
