use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::{Tx, column, inserts, sql};
use super::{CHECKPOINT_PAGES, CREDIT, Size};
use crate::clock::Timestamp;
use crate::store::database::args;
use crate::store::{Store, StoreError};

async fn store() -> (Store, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(&directory.path().join("test.db")).await.expect("opens");
    (store, directory)
}

async fn note(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    inserts("-- note\nINSERT INTO upkeep (name, value)", [args![name, "here"]], "").run(tx).await
}

async fn notes(store: &Store) -> Vec<String> {
    let notes = sql("-- notes\nSELECT name FROM upkeep WHERE value = 'here' ORDER BY name");
    let rows = notes.all(&store.db.readers).await.expect("readable");
    rows.iter().map(|row| column(row, "name").expect("a name")).collect()
}

#[tokio::test]
async fn a_value_is_bound_by_its_number_wherever_the_text_has_it() {
    let (store, _directory) = store().await;
    for connection in [(&store.db.writer).into(), (&store.db.readers).into()] {
        let connection: super::super::On<'_> = connection;
        let statement =
            sql("-- numbers\nSELECT $2 AS second, $1 AS first, $2 || $1 AS both, $3 AS third");
        let row =
            statement.bind("a").bind("b").bind(None::<i64>).one(connection).await.expect("a row");
        let read = |name| column::<String>(&row, name).expect("a text");
        assert_eq!(
            (read("first"), read("second"), read("both")),
            ("a".into(), "b".into(), "ba".into())
        );
        assert_eq!(column::<Option<i64>>(&row, "third").expect("a null"), None);
        assert!(column::<i64>(&row, "third").is_err(), "a null is no number");
        assert!(column::<i64>(&row, "first").is_err(), "a text is no number");
        assert!(column::<String>(&row, "fourth").is_err());
    }
}

#[tokio::test]
async fn a_transaction_that_is_dropped_has_written_nothing() {
    let (store, _directory) = store().await;
    let mut tx = store.db.begin("dropped").await.expect("begins");
    note(&mut tx, "dropped").await.expect("written");
    drop(tx);
    let mut tx = store.db.begin("kept").await.expect("begins");
    note(&mut tx, "kept").await.expect("written");
    tx.commit().await.expect("commits");
    assert_eq!(notes(&store).await, ["kept"]);
}

/// Commits on the only worker of a runtime; answers whether another task went on meanwhile.
async fn gives_its_thread_away(store: &Store, size: Size) -> bool {
    let (others, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (looked_at, told) = (Arc::clone(&others), Arc::clone(&seen));
    let slow_disk = move || {
        let begun = Instant::now();
        while !looked_at.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_millis(500) {
            std::thread::sleep(Duration::from_millis(1));
        }
        told.store(looked_at.load(Ordering::SeqCst), Ordering::SeqCst);
        false
    };
    let held = store.db.writer.hold().await.expect("free");
    held.connection().expect("open").commit_hook(Some(slow_disk)).expect("set");
    drop(held);
    // Behind `block_in_place` a task is on a thread that is no worker of the runtime any more. A yield brings it back to one.
    tokio::task::yield_now().await;
    let other = tokio::spawn(async move { others.store(true, Ordering::SeqCst) });
    let mut tx = store.db.begin("slow").await.expect("begins");
    sql("DELETE FROM upkeep").run(&mut tx).await.expect("written");
    note(&mut tx, if size == Size::Any { "any" } else { "small" }).await.expect("written");
    tx.commit_sized(size).await.expect("commits");
    other.await.expect("it ends");
    seen.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_small_commit_keeps_its_thread_while_the_disk_is_quick() {
    let (store, _directory) = store().await;
    let on_a_worker = tokio::spawn(async move {
        assert!(gives_its_thread_away(&store, Size::Any).await);
        assert!(!gives_its_thread_away(&store, Size::Small).await);
        assert!(gives_its_thread_away(&store, Size::Small).await, "the last one was slow");
        let mut held = store.db.writer.hold().await.expect("free");
        held.open.as_mut().expect("open").paid_back_at = Instant::now() + CREDIT;
        drop(held);
        assert!(!gives_its_thread_away(&store, Size::Small).await, "enough is paid back");
    });
    on_a_worker.await.expect("it ends");
}

#[tokio::test]
async fn a_log_is_copied_into_the_file_once_it_is_long() {
    let (store, directory) = store().await;
    let length = || std::fs::metadata(directory.path().join("test.db")).expect("it is there").len();
    let add = async |name, pages: i32| {
        let mut tx = store.db.begin("long").await.expect("begins");
        let noise = sql("INSERT INTO upkeep (name, value) VALUES ($1, hex(zeroblob($2)))");
        noise.bind(name).bind(i64::from(pages) * 4096 / 2).run(&mut tx).await.expect("written");
        tx.commit().await.expect("commits");
    };
    let before = length();
    add("one half", CHECKPOINT_PAGES / 2).await;
    assert_eq!(length(), before, "it is in the log alone");
    add("the other half", CHECKPOINT_PAGES / 2).await;
    assert!(length() > before + 4096 * 3_900, "{before} and {} octets", length());
}

#[tokio::test]
async fn nothing_is_written_behind_a_transaction_that_a_full_disk_rolled_back() {
    let (store, _directory) = store().await;
    let writer = &store.db.writer;
    for size in [Size::Any, Size::Small] {
        sql("PRAGMA max_page_count = 1").run(writer).await.expect("set to the present size");
        let mut tx = store.db.begin("full").await.expect("begins");
        note(&mut tx, "first").await.expect("fits");
        let noise = sql("INSERT INTO upkeep (name, value) VALUES ('noise', hex(zeroblob($1)))");
        assert!(noise.bind(1_000_000_i64).run(&mut tx).await.is_err(), "it does not fit");
        assert!(note(&mut tx, "behind").await.is_err());
        assert!(tx.commit_sized(size).await.is_err());
        sql("PRAGMA max_page_count = 1000000").run(writer).await.expect("there is room again");
    }
    let mut tx = store.db.begin("again").await.expect("begins");
    note(&mut tx, "again").await.expect("fits");
    tx.commit_sized(Size::Small).await.expect("commits");
    assert_eq!(notes(&store).await, ["again"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_writer_that_waits_for_another_process_holds_up_no_other_task() {
    let (store, directory) = store().await;
    let other = rusqlite::Connection::open(directory.path().join("test.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("it has the write lock");
    let (writing, reading) = (store.clone(), store.clone());
    let probe = tokio::spawn(async move { writing.probe(Timestamp::from_millis(1)).await });
    let read = tokio::spawn(async move { reading.revision().await });
    read.await.expect("it ends").expect("it is read while the probe waits");
    other.execute_batch("COMMIT").expect("it lets go");
    probe.await.expect("it ends").expect("it is written");
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let (store, _directory) = store().await;
    store.close().await;
    let refused = store.probe(Timestamp::from_millis(1)).await.expect_err("it is closed");
    assert!(refused.to_string().contains("closed"), "{refused}");
    assert!(store.revision().await.is_err());
}
