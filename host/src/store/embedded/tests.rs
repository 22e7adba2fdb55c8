use std::path::PathBuf;

use sqlx::sqlite::SqlitePoolOptions;

use super::*;
use crate::store::Store;

/// A file as an earlier version made it, with `pages` pages or more.
async fn earlier(directory: &tempfile::TempDir, pages: u32) -> (SqlitePool, PathBuf) {
    let file = directory.path().join("earlier.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true)
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
    let pool = pool.expect("opens");
    sqlx::query("CREATE TABLE t (b BLOB)").execute(&pool).await.expect("made");
    let noise = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
                INSERT INTO t SELECT randomblob(4096) FROM n";
    sqlx::query(noise).bind(pages).execute(&pool).await.expect("filled");
    (pool, file)
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).expect("there").len()
}

#[test]
fn no_statement_is_logged_by_the_driver_however_slow() {
    let settings = format!("{:?}", options(Path::new("test.db")));
    for level in [" statements_level: Off", "slow_statements_level: Off"] {
        assert!(settings.contains(level), "{level} in {settings}");
    }
}

#[tokio::test]
async fn a_new_file_can_give_space_back_and_is_not_rebuilt() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("test.db");
    std::fs::write(&file, b"").expect("made empty, as the server does");
    let store = Store::open(&file).await.expect("opens");
    store.close().await;
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file)).await;
    let converted = convert_to_shrinkable(&pool.expect("opens"), &file).await.expect("readable");
    assert_eq!(converted, Conversion::NotNeeded);
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_rebuilt_once_and_loses_what_is_free() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pool, file) = earlier(&directory, 3_000).await;
    sqlx::query("DELETE FROM t WHERE rowid % 10 > 0").execute(&pool).await.expect("deleted");
    assert_eq!(convert_to_shrinkable(&pool, &file).await.expect("readable"), Conversion::Done);
    assert!(length(&file) < 400 * 4_096, "{}", length(&file));
    let rows: i64 =
        sqlx::query_scalar("SELECT count(*) FROM t").fetch_one(&pool).await.expect("rows");
    assert_eq!(rows, 300);
    assert_eq!(convert_to_shrinkable(&pool, &file).await.expect("readable"), Conversion::NotNeeded);
}

#[tokio::test]
async fn a_disk_without_room_puts_it_off_and_the_file_works_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pool, file) = earlier(&directory, 10).await;
    let little = convert_within(&pool, &file, Some(10_000)).await.expect("readable");
    assert_eq!(little, Conversion::PutOff);
    cut(&pool, 100).await.expect("nothing to do");
    sqlx::query("DELETE FROM t").execute(&pool).await.expect("works on");
    assert_eq!(convert_within(&pool, &file, None).await.expect("readable"), Conversion::Done);
}

#[tokio::test]
async fn free_pages_are_cut_off_beyond_what_is_used_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pool, file) = earlier(&directory, 4_000).await;
    convert_to_shrinkable(&pool, &file).await.expect("readable");
    sqlx::query("DELETE FROM t").execute(&pool).await.expect("deleted");
    let first = excess(&pool).await.expect("readable");
    assert!((2_900..4_000).contains(&first), "{first}");
    cut(&pool, 1_000).await.expect("cut");
    assert_eq!(excess(&pool).await.expect("readable"), first - 1_000);
    cut(&pool, first).await.expect("cut");
    assert_eq!(excess(&pool).await.expect("readable"), 0);
    sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&pool).await.expect("checkpointed");
    assert!(length(&file) < 1_100 * 4_096, "{}", length(&file));
}
