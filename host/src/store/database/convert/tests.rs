//! A database that schema 15's server wrote, and conversions that fail or are interrupted.

mod rows;
mod store;

use rusqlite::types::Value;
use sqlx::migrate::Migrator;
use tempfile::TempDir;

use super::*;

/// Its rows; the tables are made by the migrations of that version.
const ROWS: &str = include_str!("schema15.sql");

/// A directory with the database of an earlier version.
struct Schema15Database {
    _directory: TempDir,
    file: PathBuf,
}

impl Schema15Database {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("waxwing.db");
        migrations::run(&migrations::EARLIER, &options(&file)).await.expect("migrated");
        let earlier = Self { _directory: directory, file };
        let triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";
        for name in texts(&open(&earlier.file), triggers) {
            earlier.change(&format!("DROP TRIGGER {name}"));
        }
        earlier.change(ROWS);
        earlier
    }

    /// Runs statements on the file as it stands.
    fn change(&self, sql: &str) {
        let connection = open(&self.file);
        connection.execute_batch("PRAGMA foreign_keys = OFF").expect("set");
        connection.execute_batch(sql).expect("the statements are right");
        close(connection);
    }

    async fn convert(&self) -> Result<(), StoreError> {
        convert(&self.file).await
    }

    async fn converted(&self) -> Connection {
        self.convert().await.expect("converted");
        open(&self.file)
    }

    async fn refused(&self) -> ConversionError {
        match self.convert().await {
            Err(StoreError::Conversion(error)) => error,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// All rows of all tables, in an order of their own.
    fn rows(&self) -> Vec<(String, Vec<Vec<Value>>)> {
        let connection = open(&self.file);
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let rows = |table: &String| rows(&connection, &format!("SELECT * FROM {table}"));
        texts(&connection, tables).into_iter().map(|it| (it.clone(), rows(&it))).collect()
    }

    /// The names of all files of the directory.
    fn files(&self) -> Vec<String> {
        let directory = std::fs::read_dir(self.file.parent().expect("a directory"));
        let names = directory.expect("readable").map(|it| it.expect("readable").file_name());
        names.map(|it| it.into_string().expect("UTF-8")).collect()
    }
}

fn open(file: &Path) -> Connection {
    Connection::open(file).expect("it opens")
}

fn close(connection: Connection) {
    connection.close().map_err(|(_, error)| error).expect("it closes");
}

fn texts(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).expect("the query is right");
    let texts = statement.query_map([], |row| row.get(0)).expect("it runs");
    texts.collect::<Result<_, _>>().expect("texts")
}

fn rows(connection: &Connection, query: &str) -> Vec<Vec<Value>> {
    let mut statement =
        connection.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|it| row.get(it)).collect());
    rows.expect("it runs").collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{query}: {e}"))
}

#[tokio::test]
async fn a_broken_identifier_is_named_and_leaves_the_old_file_whole() {
    let earlier = Schema15Database::new().await;
    let before = earlier.rows();
    let columns = rows(
        &open(&earlier.file),
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name <> 'sts_policies'
           AND (c.name = 'id' OR c.name LIKE '%!_id' ESCAPE '!' OR c.name IN ('body_of', 'resent_from'))
           AND c.type = 'TEXT' AND NOT (t.name = 'decisions' AND c.name = 'message_id')",
    );
    for column in &columns {
        let [Value::Text(table), Value::Text(column)] = &column[..] else { panic!("{column:?}") };
        // Not the first row, so that a part of the table is copied already. Of decisions, the table has refusals.
        let only = if table == "decisions" { "message_id IS NULL" } else { "true" };
        let last = format!(
            "SELECT {column} FROM {table} WHERE {column} <> '' AND {only} ORDER BY 1 DESC LIMIT 1"
        );
        let [last] = &texts(&open(&earlier.file), &last)[..] else {
            panic!("nothing in {table}.{column}")
        };
        let set = |from: &str, to: &str| {
            format!("UPDATE {table} SET {column} = '{to}' WHERE {column} = '{from}' AND {only}")
        };
        earlier.change(&set(last, "broken"));
        let error = earlier.refused().await;
        let ConversionError::Value { table: named, column: at, value } = &error else {
            panic!("{table}.{column}: {error}")
        };
        assert_eq!((named, at, value.as_str()), (table, column, "broken"), "{error}");
        earlier.change(&set("broken", last));
        assert_eq!(earlier.files(), ["waxwing.db"], "{table}.{column}");
    }
    assert!(columns.len() > 30, "{} columns", columns.len());
    assert_eq!(earlier.rows(), before);
    earlier.convert().await.expect("the second attempt succeeds");
    assert_eq!(schema(&earlier.file).expect("readable"), BASELINE_SCHEMA);
}

#[tokio::test]
async fn leftovers_of_an_interrupted_conversion_are_removed() {
    let earlier = Schema15Database::new().await;
    let whole = Schema15Database::new().await;
    drop(whole.converted().await);
    let new = new_file(&earlier.file);
    let bytes = std::fs::read(&whole.file).expect("readable");
    std::fs::write(&new, &bytes[..bytes.len() / 2]).expect("written");
    for ending in ["-wal", "-shm", "-journal"] {
        std::fs::write(beside(&new, ending), "of the run before").expect("written");
    }
    assert!(is_under_way(&earlier.file));
    let connection = earlier.converted().await;
    assert_eq!(texts(&connection, "PRAGMA integrity_check"), ["ok"]);
    assert_eq!(texts(&connection, "PRAGMA journal_mode"), ["wal"]);
    close(connection);
    assert_eq!(earlier.files(), ["waxwing.db"]);
    let once = std::fs::read(&earlier.file).expect("readable");
    earlier.convert().await.expect("nothing is to be done");
    assert_eq!(std::fs::read(&earlier.file).expect("readable"), once);
}

#[tokio::test]
async fn what_a_killed_server_left_in_its_log_is_converted_too() {
    let earlier = Schema15Database::new().await;
    let killed = earlier.file.with_file_name("killed.db");
    let server = open(&earlier.file);
    server.pragma_update(None, "journal_mode", "wal").expect("set");
    server.execute_batch("UPDATE accounts SET name = 'from the log'").expect("written");
    for ending in ["", "-wal"] {
        std::fs::copy(beside(&earlier.file, ending), beside(&killed, ending)).expect("copied");
    }
    convert(&killed).await.expect("converted");
    let names = texts(&open(&killed), "SELECT DISTINCT name FROM accounts");
    assert_eq!(names, ["from the log"]);
    assert!(!beside(&killed, "-wal").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_stays_one_and_the_file_that_it_names_is_converted() {
    let earlier = Schema15Database::new().await;
    let elsewhere = tempfile::tempdir().expect("a directory");
    let link = elsewhere.path().join("linked.db");
    std::os::unix::fs::symlink(&earlier.file, &link).expect("linked");
    convert(&link).await.expect("converted");
    assert!(link.is_symlink());
    assert_eq!(schema(&earlier.file).expect("readable"), BASELINE_SCHEMA);
    assert_eq!(earlier.files(), ["waxwing.db"]);
}

#[tokio::test]
async fn a_file_that_another_process_has_open_is_not_converted() {
    let earlier = Schema15Database::new().await;
    let other = open(&earlier.file);
    other.execute_batch("BEGIN; SELECT count(*) FROM messages").expect("read");
    let error = earlier.refused().await;
    assert!(matches!(error, ConversionError::InUse { .. }), "{error}");
    assert!(!new_file(&earlier.file).exists());
    close(other);
    earlier.convert().await.expect("converted");
}

#[test]
fn too_little_disk_is_refused_before_anything_is_written() {
    let file = Path::new("waxwing.db");
    let gigabyte = 1 << 30;
    assert!(check_disk(file, gigabyte, Some(2 * gigabyte)).is_ok());
    assert!(check_disk(file, gigabyte, None).is_ok(), "the system does not say");
    let error = check_disk(file, gigabyte, Some(gigabyte)).expect_err("refused").to_string();
    assert!(error.contains("1248224870") && error.contains("1073741824"), "{error}");
}

#[tokio::test]
async fn a_database_of_the_first_version_is_converted_by_way_of_the_last_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.db");
    let first = Migrator::with_migrations(migrations::EARLIER.iter().take(1).cloned().collect());
    migrations::run(&first, &options(&file)).await.expect("migrated");
    let account = "acc_01M8449B62GFF0S45VD6YHK67G";
    let connection = open(&file);
    connection
        .execute(
            "INSERT INTO accounts (id, name, plan, state, created_at) VALUES ($1, 'n', 'p', 'active', 1)",
            [account],
        )
        .expect("inserted");
    close(connection);
    convert(&file).await.expect("converted");
    let ids = texts(&open(&file), "SELECT hex(id) FROM accounts");
    let id = ulid::Ulid::from_string(account.trim_start_matches("acc_")).expect("an identifier");
    assert_eq!(ids, [format!("{:032X}", u128::from(id))]);
}

#[tokio::test]
async fn a_new_or_empty_file_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.db");
    std::fs::write(&file, "").expect("written");
    convert(&file).await.expect("nothing is to be done");
    assert_eq!(std::fs::metadata(&file).expect("there").len(), 0);
    migrations::run(&migrations::CURRENT, &options(&file)).await.expect("made");
    let before = std::fs::read(&file).expect("readable");
    convert(&file).await.expect("nothing is to be done");
    assert_eq!(std::fs::read(&file).expect("readable"), before);
}
