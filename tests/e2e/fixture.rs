//! What the tests send, publish, run and look into.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection, SqliteConnection, SqlitePool};
use waxwing_tests::Server;

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

/// Runs a script that reads `input` and prints JSON, in this Python.
pub fn run_python(python: &Path, script: &str, input: &[u8]) -> Value {
    let printed = waxwing_tools::run_python(python, script, input);
    serde_json::from_str(&printed).expect("the script prints JSON")
}

/// Runs statements on the server's database, as another process would that works for the operator.
pub async fn change(server: &Server, sql: &str) {
    let options = SqliteConnectOptions::new().filename(server.data_dir().join("waxwing.db"));
    let options = options.busy_timeout(Duration::from_secs(30));
    let mut connection = SqliteConnection::connect_with(&options).await.expect("it opens");
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
    statements.execute(&mut connection).await.expect("the statements are right");
    connection.close().await.expect("it closes");
}

/// The server's database, for reading only, past everything that the server says of itself.
pub struct Database(SqlitePool);

impl Database {
    pub async fn of(server: &Server) -> Self {
        let file = server.data_dir().join("waxwing.db");
        let options = SqliteConnectOptions::new().filename(file).read_only(true);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
        Self(pool.expect("the database opens"))
    }

    pub async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.0).await.expect("the query is right")
    }

    pub async fn texts(&self, sql: &'static str) -> Vec<String> {
        sqlx::query_scalar(sql).fetch_all(&self.0).await.expect("the query is right")
    }

    /// Money and messages agree, whatever has happened.
    pub async fn assert_sound(&self) {
        for (what, sql) in UNSOUND {
            assert_eq!(self.number(sql).await, 0, "{what}");
        }
    }
}

/// Nothing of what was refused is in the account of `dev`, and the next good send works.
pub async fn assert_unharmed(server: &Server, accepted: usize) {
    server.send(server.key(), &message("good@example.com")).await.message_id();
    server.wait_for_mail_to("good@example.com").await;
    assert_eq!(server.messages(server.dev_output("accountId")).len(), accepted + 1);
    Database::of(server).await.assert_sound().await;
}

/// What must never be, and the query that counts it.
const UNSOUND: [(&str, &str); 12] = [
    (
        "a balance that is not the sum of its ledger",
        "SELECT count(*) FROM accounts a WHERE balance <>
           (SELECT coalesce(sum(amount), 0) FROM ledger l WHERE l.account_id = a.id)",
    ),
    (
        "a debit without its message",
        "SELECT count(*) FROM ledger l WHERE kind = 'debit' AND NOT EXISTS
           (SELECT 1 FROM messages m WHERE m.id = l.message_id AND m.credits = -l.amount)",
    ),
    (
        "a message without its debit",
        "SELECT count(*) FROM messages m WHERE credits > 0 AND
           (SELECT count(*) FROM ledger l WHERE l.message_id = m.id AND kind = 'debit') <> 1",
    ),
    (
        "a message without its body",
        "SELECT count(*) FROM messages m WHERE NOT EXISTS
           (SELECT 1 FROM bodies b WHERE b.message_id = coalesce(m.body_of, m.id))",
    ),
    (
        "a message without its decision",
        "SELECT count(*) FROM messages m WHERE
           (SELECT count(*) FROM decisions d WHERE d.message_id = m.id) <> 1",
    ),
    (
        "a message whose last event is not its state",
        "SELECT count(*) FROM messages m WHERE 'message.' || state <>
           (SELECT type FROM events e WHERE e.subject = m.id ORDER BY sequence DESC LIMIT 1)",
    ),
    (
        "a message whose first event is not its acceptance",
        "SELECT count(*) FROM messages m WHERE
           (SELECT type FROM events e WHERE e.subject = m.id ORDER BY sequence LIMIT 1)
           NOT IN ('message.queued', 'message.scheduled', 'message.suppressed')",
    ),
    (
        "a message that waits for something and is not in the queue",
        "SELECT count(*) FROM messages m
         WHERE state IN ('scheduled', 'queued', 'sending', 'deferred')
           AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.message_id = m.id)",
    ),
    (
        "a message that rests and is still in the queue",
        "SELECT count(*) FROM messages m JOIN queue q ON q.message_id = m.id
         WHERE state NOT IN ('scheduled', 'queued', 'sending', 'deferred')",
    ),
    (
        "a canceled message that was not refunded",
        "SELECT count(*) FROM messages m WHERE state = 'canceled' AND credits <>
           (SELECT coalesce(sum(amount), 0) FROM ledger l
            WHERE l.message_id = m.id AND kind = 'refund')",
    ),
    (
        "a refund of a message that has left",
        "SELECT count(*) FROM messages m JOIN ledger l ON l.message_id = m.id AND kind = 'refund'
         WHERE state IN ('delivered', 'relayed')",
    ),
    ("a message without a reason", "SELECT count(*) FROM messages WHERE trim(reason) = ''"),
];
