//! All that is in a store comes over, once; what cannot be moved is refused before anything is written.

use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use waxwing_tools::Cluster;

use super::*;
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::{AccountId, Identifier as _};
use crate::store::Store;

const ROWS: &str = include_str!("rows.sql");
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A file with rows in every table, and a server's database that is empty.
struct Sides {
    directory: TempDir,
    path: PathBuf,
    file: Place,
    url: String,
    server: Place,
}

impl Sides {
    async fn new(name: &str) -> Option<Self> {
        let cluster = Cluster::shared("that a store is moved to PostgreSQL and back")?;
        let url = cluster.create(name);
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("test.db");
        Store::open(&path).await.expect("opens").close().await;
        change(&path, ROWS);
        let (file, server) = (Place::File(path.clone()), Place::Server(url.clone()));
        Some(Self { directory, path, file, url, server })
    }

    async fn begin(&self) -> Result<Transfer, StoreError> {
        Transfer::begin(Source::open(&self.file).await?, &self.server).await
    }

    async fn difference(&self) -> String {
        let compared = compare((&self.file, &self.server), &mut |_| {}).await;
        compared.expect_err("a row differs").to_string()
    }
}

fn change(file: &Path, statements: &str) {
    let connection = rusqlite::Connection::open(file).expect("opens");
    connection.execute_batch("PRAGMA foreign_keys = ON").expect("it is known");
    connection.execute_batch(statements).expect("the statements are right");
}

async fn try_on_server(url: &str, statements: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
    statements.execute(&mut connection).await.map(|_| ())
}

async fn change_on_server(url: &str, statements: &str) {
    try_on_server(url, statements).await.expect("the statements are right");
}

async fn move_all(from: &Place, to: &Place) -> Vec<ComparedTable> {
    let source = Source::open(from).await.expect("opens");
    let mut transfer = Transfer::begin(source, to).await.expect("begins");
    let hold = transfer.hold().await.expect("is held");
    transfer.copy(&mut |_| {}).await.expect("is copied");
    let compared = transfer.compare(&mut |_| {}).await.expect("is the same");
    transfer.finish(hold).await.expect("ends");
    compared
}

/// What SQLite says, row by row.
fn told(file: &Path, query: &str) -> Vec<(String, i64)> {
    let connection = rusqlite::Connection::open(file).expect("opens");
    let mut query = connection.prepare(query).expect("a query");
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.map(|it| it.expect("a row")).collect()
}

#[tokio::test]
async fn every_row_comes_over_and_back_and_no_trigger_counts_it_twice() {
    let Some(sides) = Sides::new("over_and_back").await else { return };
    let over = move_all(&sides.file, &sides.server).await;
    for table in &over {
        assert!(table.rows > 0, "rows.sql has no row of {}", table.name);
    }
    let path = sides.directory.path().join("back.db");
    let back = move_all(&sides.server, &Place::File(path.clone())).await;
    let (kept, left): (Vec<_>, Vec<_>) =
        over.into_iter().partition(|it| !BESIDE_A_FILE.contains(&it.name.as_str()));
    assert_eq!(kept, back, "the same rows with the same digests");
    assert_eq!(left.len(), BESIDE_A_FILE.len(), "what stands beside a file stays behind");

    for query in [
        "SELECT name, seq FROM sqlite_sequence ORDER BY name",
        "SELECT name, balance FROM accounts ORDER BY name",
        "SELECT name, value FROM totals",
        "SELECT lane, due_at FROM lanes ORDER BY lane",
        "SELECT kind, rowid FROM samples ORDER BY rowid",
        "SELECT 'the revision', value FROM revision",
    ] {
        assert_eq!(told(&sides.path, query), told(&path, query), "{query}");
    }
    let nul = "SELECT subject, 1 FROM messages WHERE subject LIKE 'Null%'";
    assert_eq!(told(&path, nul), [("Null\u{fffd}byte".to_owned(), 1)]);
    Store::open(&path).await.expect("a server can start with it").close().await;
}

#[tokio::test]
async fn triggers_foreign_keys_and_numbers_go_on_in_the_filled_database() {
    let Some(sides) = Sides::new("goes_on").await else { return };
    move_all(&sides.file, &sides.server).await;
    let store = Store::open(sides.server.clone()).await.expect("opens");
    let mut bytes = [0; 16];
    (bytes[0], bytes[1], bytes[15]) = (0x01, 0xA0, 0x01);
    let ann = AccountId::from_bytes(bytes);
    let balance = store.add_credits(ann, EntryKind::Grant, Credits(4), "more", NOW).await;
    assert_eq!(balance.expect("granted"), Credits(1_000));
    store.close().await;

    for refused in [
        "DELETE FROM users",
        "DELETE FROM audit",
        "UPDATE ledger SET amount = 1",
        "INSERT INTO recovery_codes VALUES ('\\x01', decode(repeat('00', 32), 'hex'), NULL)",
    ] {
        assert!(try_on_server(&sides.url, refused).await.is_err(), "{refused}");
    }
    let mut connection = PgConnection::connect(&sides.url).await.expect("it runs");
    let event = "INSERT INTO events (type, detail, created_at) VALUES (1, '', 1)
                 RETURNING sequence";
    let event: i64 = sqlx::query_scalar(event).fetch_one(&mut connection).await.expect("written");
    assert_eq!(event, 2_601, "no number is given twice, also of an event that is gone");
    let sample =
        "INSERT INTO samples (decision_id, kind, slot, digest, outcome, sealed, created_at)
                  VALUES ('\\x09', 'k', 's', 'd', 'trapped', '\\x', 1) RETURNING number";
    let sample: i64 = sqlx::query_scalar(sample).fetch_one(&mut connection).await.expect("written");
    assert_eq!(sample, 4);
}

#[tokio::test]
async fn a_move_goes_on_where_it_was_cut_off_and_takes_changes_along() {
    let Some(sides) = Sides::new("cut_off").await else { return };
    let mut transfer = sides.begin().await.expect("begins");
    let first = transfer.copy(&mut |_| {}).await.expect("is copied");
    assert!(first.added > 2_500, "{first:?}");
    drop(transfer);

    change_on_server(&sides.url, "DELETE FROM events WHERE sequence > 1500").await;
    // Two people change their addresses with each other, which are unique at every moment.
    change(
        &sides.path,
        "UPDATE users SET email = 'x' WHERE email = 'one@example.com';
         UPDATE users SET email = 'one@example.com' WHERE email = 'two@example.com';
         UPDATE users SET email = 'two@example.com' WHERE email = 'x';
         UPDATE messages SET state = 'failed' WHERE state = 'deferred';
         DELETE FROM suppressions WHERE kind = 'complaint';
         DELETE FROM template_republications WHERE note = 'again';
         INSERT INTO sts_policies VALUES ('new.example', '1', '', 1, 9);",
    );
    let mut transfer = sides.begin().await.expect("goes on");
    let hold = transfer.hold().await.expect("is held");
    let second = transfer.copy(&mut |_| {}).await.expect("is copied");
    // 1,000 events, two users, a message, a policy, and all of the table that has no key.
    assert_eq!((second.added, second.removed), (1_006, 4), "{second:?}");
    transfer.compare(&mut |_| {}).await.expect("is the same");
    transfer.finish(hold).await.expect("ends");
}

#[tokio::test]
async fn a_row_that_differs_is_named_by_its_table_and_key() {
    let Some(sides) = Sides::new("differs").await else { return };
    move_all(&sides.file, &sides.server).await;
    compare((&sides.file, &sides.server), &mut |_| {}).await.expect("they are the same");
    // Tables are compared in the order of their names: the last change is found first.
    for (statement, says) in [
        (
            "UPDATE template_republications SET author = 'another' WHERE note = 'again'",
            "AND at = 7 AND author = 'another' AND note = 'again' is in the filled database alone",
        ),
        (
            "INSERT INTO sts_policies VALUES ('more.example', '1', '', 1, 9)",
            "table sts_policies: the row with domain = 'more.example' is in the filled database alone",
        ),
        (
            "UPDATE queue SET is_wanted = FALSE WHERE is_wanted",
            "table queue: the row with message_id = x'01c00000000000000000000000000002' has other values",
        ),
        (
            "DELETE FROM bodies WHERE bytes = ''",
            "table bodies: the row with message_id = x'01c00000000000000000000000000002' is missing",
        ),
    ] {
        change_on_server(&sides.url, statement).await;
        let found = sides.difference().await;
        assert!(found.contains(says), "{statement}: {found}");
    }
}

#[tokio::test]
async fn half_of_a_move_and_what_was_moved_are_no_stores() {
    let Some(sides) = Sides::new("no_stores").await else { return };
    let mut transfer = sides.begin().await.expect("begins");
    for half in [
        Store::open(sides.server.clone()).await.expect_err("it is half"),
        Store::check(&sides.server).await.expect_err("the same"),
        Source::open(&sides.server).await.expect_err("the same"),
    ] {
        assert!(half.to_string().contains("is filling this database"), "{half}");
    }
    Store::open(&sides.path).await.expect("the source is as it was").close().await;

    let hold = transfer.hold().await.expect("is held");
    transfer.copy(&mut |_| {}).await.expect("is copied");
    transfer.finish(hold).await.expect("ends");
    for moved in [
        Store::open(&sides.path).await.expect_err("it was moved"),
        Store::check(&sides.file).await.expect_err("the same"),
    ] {
        assert!(moved.to_string().contains("was moved to"), "{moved}");
        assert!(moved.to_string().contains("database no_stores"), "{moved}");
    }
    Store::check(&sides.server).await.expect("this is the store");
    let again = sides.begin().await.expect_err("it is done");
    assert!(again.to_string().contains("has data already"), "{again}");
    let elsewhere = Cluster::shared("the same").expect("it runs").create("elsewhere");
    let source = Source::open(&sides.file).await.expect("opens");
    let elsewhere = Transfer::begin(source, &Place::Server(elsewhere)).await;
    assert!(elsewhere.expect_err("it was moved").to_string().contains("was moved to"));
}

#[tokio::test]
async fn only_an_empty_database_is_filled() {
    let Some(sides) = Sides::new("not_empty").await else { return };
    let other = sides.directory.path().join("other.db");
    Store::open(&other).await.expect("opens").close().await;
    let source = Source::open(&Place::File(other)).await.expect("opens");
    drop(Transfer::begin(source, &sides.server).await.expect("begins"));
    let half = sides.begin().await.expect_err("it is half of another move");
    assert!(half.to_string().contains("half of a move from another installation"), "{half}");

    let account = "DELETE FROM upkeep WHERE name = 'filled from';
        INSERT INTO accounts (id, name, plan, state, created_at) VALUES ('\\x01', '', '', 'active', 1)";
    change_on_server(&sides.url, account).await;
    let filled = sides.begin().await.expect_err("it has an account");
    assert!(filled.to_string().contains("has data already (table accounts)"), "{filled}");
}

#[tokio::test]
async fn tables_that_differ_are_told_before_a_row_is_copied() {
    let Some(sides) = Sides::new("unlike").await else { return };
    Store::open(sides.server.clone()).await.expect("opens").close().await;
    for (unlike, alike, says) in [
        (
            "ALTER TABLE accounts ADD COLUMN extra TEXT",
            "ALTER TABLE accounts DROP COLUMN extra",
            "the column accounts.extra, which SQLite has not",
        ),
        (
            "ALTER TABLE probe RENAME COLUMN written_at TO at",
            "ALTER TABLE probe RENAME COLUMN at TO written_at",
            "the column probe.written_at, which PostgreSQL has not",
        ),
        (
            "CREATE TABLE extra (id BIGINT)",
            "DROP TABLE extra",
            "the table extra, which SQLite has not",
        ),
        (
            "ALTER TABLE usage ALTER COLUMN sent TYPE INTEGER",
            "ALTER TABLE usage ALTER COLUMN sent TYPE BIGINT",
            "the column usage.sent: integer and INTEGER",
        ),
        (
            "ALTER TABLE usage DROP CONSTRAINT usage_pkey",
            "ALTER TABLE usage ADD PRIMARY KEY (day, account_id)",
            "the primary key of usage",
        ),
    ] {
        change_on_server(&sides.url, unlike).await;
        let told = sides.begin().await.expect_err("they differ").to_string();
        assert!(told.contains(says), "{told}");
        change_on_server(&sides.url, alike).await;
    }
    sides.begin().await.expect("they are alike");
}

#[tokio::test]
async fn nobody_writes_into_a_database_while_it_is_held() {
    let Some(sides) = Sides::new("held").await else { return };
    let mut transfer = sides.begin().await.expect("begins");
    let hold = transfer.hold().await.expect("is held");
    let writer = rusqlite::Connection::open(&sides.path).expect("opens");
    writer.busy_timeout(std::time::Duration::ZERO).expect("set");
    writer.execute_batch("UPDATE probe SET written_at = 7").expect_err("it is locked");
    transfer.copy(&mut |_| {}).await.expect("is copied");
    transfer.finish(hold).await.expect("ends");

    let back = Place::File(sides.directory.path().join("back.db"));
    let source = Source::open(&sides.server).await.expect("opens");
    let mut transfer = Transfer::begin(source, &back).await.expect("begins");
    let _hold = transfer.hold().await.expect("is held");
    let mut connection = PgConnection::connect(&sides.url).await.expect("it runs");
    let lock = "SELECT pg_try_advisory_xact_lock(7023767254913049)";
    let is_free: bool = sqlx::query_scalar(lock).fetch_one(&mut connection).await.expect("asked");
    assert!(!is_free, "those who write wait");
}
