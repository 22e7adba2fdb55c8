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

/// Puts a text that never ends into a published version, as a server left it there that did not try templates without
/// examples: today publishing refuses it.
pub fn publish_harmful(server: &Server, account: &str, slug: &str, text: &str) {
    let harmless = Template { subject: "s", text: Some("harmless"), ..Template::default() };
    publish(server, account, slug, &harmless, &[]);
    let file = server.data_dir().join("waxwing.db");
    let database = rusqlite::Connection::open(file).expect("the database opens");
    let statement = "UPDATE template_versions SET source = json_set(source, '$.text', ?1)
                     WHERE template_id = (SELECT id FROM templates WHERE kind = 'template' AND slug = ?2)";
    assert_eq!(database.execute(statement, (text, slug)).expect("written"), 1);
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

    /// Identifiers of messages, as they are told.
    pub async fn messages(&self, sql: &'static str) -> Vec<String> {
        let all: Vec<Vec<u8>> =
            sqlx::query_scalar(sql).fetch_all(&self.0).await.expect("the query is right");
        all.iter().map(|bytes| told("msg_", bytes)).collect()
    }

    /// Money and messages agree, whatever has happened.
    pub async fn assert_sound(&self) {
        for (what, sql) in UNSOUND.into_iter().chain(UNSOUND_IN_A_FILE) {
            assert_eq!(self.number(sql).await, 0, "{what}");
        }
    }
}

/// The digits of a ULID, in their order.
const DIGITS: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// An identifier of the database as it is told: a prefix and a ULID.
pub fn told(prefix: &str, bytes: &[u8]) -> String {
    let bits = u128::from_be_bytes(bytes.try_into().expect("16 bytes"));
    let digit = |place: u32| usize::try_from((bits >> (5 * place)) & 31).expect("a digit");
    let digits = (0..26).rev().map(|place| char::from(DIGITS.as_bytes()[digit(place)]));
    prefix.chars().chain(digits).collect()
}

/// An identifier that was told, as SQL writes the bytes of the database.
pub fn in_sql(id: &str) -> String {
    let (_, ulid) = id.split_once('_').expect("a prefix");
    let digit = |it| DIGITS.find(it).expect("a digit of a ULID") as u128;
    let bits = ulid.chars().fold(0_u128, |bits, it| (bits << 5) | digit(it));
    format!("x'{bits:032X}'")
}

/// Nothing of what was refused is in the account of `dev`, and the next good send works.
pub async fn assert_unharmed(server: &Server, accepted: usize) {
    server.send(server.key(), &message("good@example.com")).await.message_id();
    server.wait_for_mail_to("good@example.com").await;
    assert_eq!(server.messages(server.dev_output("accountId")).len(), accepted + 1);
    Database::of(server).await.assert_sound().await;
}

/// What must never be, and the query that counts it, in words of SQLite and of PostgreSQL.
pub const UNSOUND: [(&str, &str); 13] = [
    (
        "a balance that is not the sum of its ledger",
        "SELECT count(*) FROM accounts a WHERE balance <>
           (SELECT coalesce(sum(amount), 0) FROM ledger l WHERE l.account_id = a.id)",
    ),
    (
        "a debit that is not what its messages cost",
        "SELECT count(*) FROM ledger l
         LEFT JOIN (SELECT debit, sum(credits) AS cost, count(*) AS paid FROM messages
                    WHERE debit IS NOT NULL GROUP BY debit) m ON m.debit = l.id
         WHERE kind = 'debit' AND (m.cost IS DISTINCT FROM -l.amount OR m.paid IS DISTINCT FROM l.messages)",
    ),
    (
        "a message without its debit",
        "SELECT count(*) FROM messages m WHERE credits > 0 AND NOT EXISTS
           (SELECT 1 FROM ledger l
            WHERE l.id = m.debit AND l.kind = 'debit' AND l.account_id = m.account_id)",
    ),
    (
        "a message without its body",
        "SELECT count(*) FROM messages m WHERE NOT EXISTS
           (SELECT 1 FROM bodies b WHERE b.message_id = coalesce(m.body_of, m.id))",
    ),
    (
        "a message whose last event is not its state",
        "SELECT count(*) FROM messages m WHERE state IS DISTINCT FROM
           (SELECT CASE type WHEN 1 THEN 'scheduled' WHEN 2 THEN 'queued' WHEN 3 THEN 'sending'
                             WHEN 4 THEN 'delivered' WHEN 5 THEN 'relayed' WHEN 6 THEN 'deferred'
                             WHEN 7 THEN 'bounced' WHEN 8 THEN 'failed' WHEN 9 THEN 'suppressed'
                             WHEN 10 THEN 'canceled' END
            FROM events e WHERE e.subject = m.id ORDER BY sequence DESC LIMIT 1)",
    ),
    (
        "a message whose first event is not its acceptance",
        "SELECT count(*) FROM messages m WHERE
           (SELECT type FROM events e WHERE e.subject = m.id ORDER BY sequence LIMIT 1)
           NOT IN (1, 2, 9)",
    ),
    (
        "a message that no list finds, or a count that is not that of the messages",
        "SELECT (SELECT count(*) FROM messages m WHERE NOT EXISTS
                   (SELECT 1 FROM periods p WHERE p.account_id = m.account_id AND p.period = m.period))
              + abs((SELECT coalesce(sum(changes), 0) FROM sent WHERE state = 'accepted')
                    - (SELECT count(*) FROM messages))",
    ),
    (
        "a queue of another length than is told",
        "SELECT abs((SELECT coalesce(sum(value), 0) FROM totals WHERE name = 'queue')
                    - (SELECT count(*) FROM queue))",
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

/// The same where one process writes at a time, into a file.
const UNSOUND_IN_A_FILE: [(&str, &str); 2] = [
    (
        "a row of the ledger that does not name the one before it",
        "SELECT count(*) FROM ledger l WHERE previous IS NOT
           (SELECT max(e.id) FROM ledger e WHERE e.account_id = l.account_id AND e.id < l.id)",
    ),
    (
        "a message without its decision, or with one of nobody",
        "SELECT count(*) FROM messages m WHERE json_array_length(decisions) = 0 OR EXISTS
           (SELECT 1 FROM json_each(m.decisions) d WHERE NOT EXISTS
              (SELECT 1 FROM plugin_identities i WHERE i.id = d.value ->> 0))",
    ),
];
