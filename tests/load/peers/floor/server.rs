//! The floor: the least that a durable send of a template can be on this stack, to measure against.
//!
//! axum, the `liquid` crate natively, and three rows a send in SQLite (write-ahead log, synced before the
//! answer, as many sends in one transaction as wait): the message, its place in the queue, the balance. No
//! plugins, no escaping, no MIME, no compression, no records, no idempotency, no domains, no log.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use liquid::{Object, ParserBuilder, Template};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::args::FloorArgs;

/// Sends of one transaction at most.
const GROUP: usize = 256;
/// Sends that wait for one at most.
const WAITING: usize = 4_096;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL, recipient TEXT NOT NULL,
                           subject TEXT, html TEXT, text TEXT);
    CREATE TABLE queue (message_id INTEGER PRIMARY KEY, due_at INTEGER NOT NULL, state INTEGER NOT NULL);
    CREATE INDEX queue_due ON queue (state, due_at);
    INSERT INTO accounts VALUES (1, 1000000000);";
const MESSAGE: &str = "INSERT INTO messages VALUES (NULL, 1, ?1, ?2, ?3, ?4)";
const QUEUE: &str = "INSERT INTO queue VALUES (?1, ?1, 0)";
const DEBIT: &str =
    "UPDATE accounts SET balance = balance - 1 WHERE id = 1 AND balance >= 1 RETURNING balance";

struct Floor {
    key: [u8; 32],
    /// By slug.
    templates: HashMap<String, Parts<Template>>,
    sends: mpsc::Sender<Send>,
    /// CPU of making the data ready for the templates, and of rendering them, in nanoseconds.
    data_cpu: AtomicU64,
    render_cpu: AtomicU64,
}

/// What a message is made of. One line of text has no HTML.
struct Parts<T> {
    subject: Option<T>,
    html: Option<T>,
    text: Option<T>,
}

/// What the writer gets.
struct Send {
    recipient: String,
    parts: Parts<String>,
    answer: oneshot::Sender<Receipt>,
}

struct Receipt {
    id: i64,
    balance: i64,
}

/// Listens on a free port, prints its address, and serves until it is killed.
pub fn serve(args: &FloorArgs) -> io::Result<()> {
    let database = open(&args.data_dir.join("floor.db")).map_err(io::Error::other)?;
    let (sends, waiting) = mpsc::channel(WAITING);
    std::thread::spawn(move || write_groups(database, waiting).expect("the disk takes the rows"));
    let floor = Arc::new(Floor {
        key: Sha256::digest(&args.api_key).into(),
        templates: templates(&args.templates)?,
        sends,
        data_cpu: AtomicU64::new(0),
        render_cpu: AtomicU64::new(0),
    });
    let router = Router::new()
        .route("/messages/send", post(send))
        .route("/metrics", get(metrics))
        .with_state(floor);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(io::stdout(), "{}", listener.local_addr()?)?;
        axum::serve(listener, router).await
    })
}

async fn send(
    State(floor): State<Arc<Floor>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let key: Option<[u8; 32]> = headers.get("x-api-key").map(|key| Sha256::digest(key).into());
    if key != Some(floor.key) {
        return refused(StatusCode::UNAUTHORIZED);
    }
    let template = body["template"].as_str().and_then(|slug| floor.templates.get(slug));
    let (Some(recipient), Some(template)) = (body["to"].as_str(), template) else {
        return refused(StatusCode::BAD_REQUEST);
    };
    let Ok(parts) = floor.render(template, &body["data"]) else {
        return refused(StatusCode::BAD_REQUEST);
    };
    let (answer, receipt) = oneshot::channel();
    let send = Send { recipient: recipient.to_owned(), parts, answer };
    if floor.sends.send(send).await.is_err() {
        return refused(StatusCode::SERVICE_UNAVAILABLE);
    }
    let Ok(Receipt { id, balance }) = receipt.await else {
        return refused(StatusCode::SERVICE_UNAVAILABLE);
    };
    let answer = json!({ "success": true, "messageId": id, "creditsRemaining": balance });
    (StatusCode::CREATED, Json(answer))
}

fn refused(status: StatusCode) -> (StatusCode, Json<Value>) {
    (status, Json(json!({ "success": false })))
}

async fn metrics(State(floor): State<Arc<Floor>>) -> String {
    let (data, render) = (&floor.data_cpu, &floor.render_cpu);
    format!(
        "floor_data_cpu_nanoseconds_total {}\nfloor_render_cpu_nanoseconds_total {}\n",
        data.load(Ordering::Relaxed),
        render.load(Ordering::Relaxed)
    )
}

impl Floor {
    fn render(
        &self,
        template: &Parts<Template>,
        data: &Value,
    ) -> Result<Parts<String>, liquid::Error> {
        let begin = cpu();
        let data = liquid::to_object(data)?;
        let ready = cpu();
        let parts = template.render(&data)?;
        add(&self.data_cpu, ready.saturating_sub(begin));
        add(&self.render_cpu, cpu().saturating_sub(ready));
        Ok(parts)
    }
}

impl Parts<Template> {
    fn render(&self, data: &Object) -> Result<Parts<String>, liquid::Error> {
        let part = |part: &Option<Template>| part.as_ref().map(|it| it.render(data)).transpose();
        Ok(Parts {
            subject: part(&self.subject)?,
            html: part(&self.html)?,
            text: part(&self.text)?,
        })
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// CPU time of this thread; nothing is awaited between two readings.
fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn templates(folder: &Path) -> io::Result<HashMap<String, Parts<Template>>> {
    let parser = ParserBuilder::with_stdlib().build().map_err(io::Error::other)?;
    let part = |folder: &Path, name: &str| match std::fs::read_to_string(folder.join(name)) {
        Ok(source) => parser.parse(&source).map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let mut templates = HashMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let folder = entry.path();
        let parts = Parts {
            subject: part(&folder, "subject.liquid")?,
            html: part(&folder, "html.liquid")?,
            text: part(&folder, "text.liquid")?,
        };
        templates.insert(format!("load-{}", entry.file_name().display()), parts);
    }
    Ok(templates)
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    // One thread uses it.
    let database = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    database.execute_batch(SCHEMA)?;
    Ok(database)
}

fn write_groups(
    mut database: Connection,
    mut waiting: mpsc::Receiver<Send>,
) -> rusqlite::Result<()> {
    let mut written = Vec::new();
    while let Some(first) = waiting.blocking_recv() {
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut next = Some(first);
        while let Some(send) = next {
            let receipt = write(&transaction, &send)?;
            written.push((send.answer, receipt));
            next = if written.len() < GROUP { waiting.try_recv().ok() } else { None };
        }
        transaction.commit()?;
        for (answer, receipt) in written.drain(..) {
            // A client may have gone.
            let _gone = answer.send(receipt);
        }
    }
    Ok(())
}

fn write(transaction: &Transaction<'_>, send: &Send) -> rusqlite::Result<Receipt> {
    let Send { recipient, parts: Parts { subject, html, text }, .. } = send;
    transaction.prepare_cached(MESSAGE)?.execute((recipient, subject, html, text))?;
    let id = transaction.last_insert_rowid();
    transaction.prepare_cached(QUEUE)?.execute((id,))?;
    let balance = transaction.prepare_cached(DEBIT)?.query_row((), |row| row.get(0))?;
    Ok(Receipt { id, balance })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_that_wait_are_written_in_one_transaction() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("floor.db");
        let database = open(&file).expect("a database");
        let (sends, waiting) = mpsc::channel(WAITING);
        let mut receipts = Vec::new();
        for number in 0..3 {
            let parts = Parts { subject: Some("Hi".to_owned()), html: None, text: None };
            let (answer, receipt) = oneshot::channel();
            let send = Send { recipient: format!("{number}@example.com"), parts, answer };
            sends.try_send(send).unwrap_or_else(|_| panic!("there is room"));
            receipts.push(receipt);
        }
        drop(sends);
        write_groups(database, waiting).expect("written");
        let balances = receipts.into_iter().map(|receipt| {
            receipt.blocking_recv().map(|it| (it.id, it.balance)).expect("answered")
        });
        let begin = 1_000_000_000;
        assert_eq!(balances.collect::<Vec<_>>(), [(1, begin - 1), (2, begin - 2), (3, begin - 3)]);
        let database = Connection::open(file).expect("a database");
        let rows = "SELECT count(*) FROM messages JOIN queue ON message_id = id";
        let rows: i64 = database.query_row(rows, (), |row| row.get(0)).expect("a count");
        assert_eq!(rows, 3);
    }

    #[test]
    fn every_template_of_the_generator_renders() {
        let folder = Path::new(crate::peers::accept::TEMPLATES);
        let templates = templates(folder).expect("templates");
        for template in crate::args::Template::ALL {
            let data: Value = serde_json::from_str(template.data()).expect("JSON");
            let data = liquid::to_object(&data).expect("an object");
            let parts = &templates[&format!("load-{}", template.folder())];
            let text = parts.render(&data).expect("rendered").text.expect("a text");
            assert!(!text.contains("{{") && !text.is_empty(), "{text}");
        }
    }
}
