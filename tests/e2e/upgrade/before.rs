//! The database of a server, as the version before would have written it: its tables, with the rows that fit into them.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest as _, Sha384};
use waxwing_tests::workspace;

const MIGRATIONS: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY,
    description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)";
const TABLES: &str = "SELECT name FROM main.sqlite_schema WHERE type = 'table'
    AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> '_sqlx_migrations' ORDER BY name";
const COLUMNS: &str = "SELECT name FROM pragma_table_info(?1, 'main') WHERE name IN
    (SELECT name FROM pragma_table_info(?1, 'written')) ORDER BY cid";

/// Puts a database of the schema before the last migration in the place of a file. Answers that schema.
pub fn write_version_before(file: &Path) -> i64 {
    let log = file.with_extension("db-wal");
    assert!(!log.exists(), "the server has ended and closed its database");
    let written = file.with_extension("written");
    fs::rename(file, &written).expect("renamed");
    let connection = Connection::open(file).expect("it opens");
    let settings =
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;";
    connection.execute_batch(settings).expect("set");
    connection.execute_batch(MIGRATIONS).expect("made");
    let schema = migrate(&connection);
    // The order in which tables are copied is not that of their references.
    connection.execute_batch("PRAGMA foreign_keys = OFF").expect("set");
    let triggers = "SELECT name || '|' || sql FROM sqlite_schema WHERE type = 'trigger'";
    let triggers = texts(&connection, triggers, &[]);
    let triggers: Vec<(&str, &str)> =
        triggers.iter().map(|it| it.split_once('|').expect("two parts")).collect();
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).expect("dropped");
    }
    let path = written.to_str().expect("UTF-8");
    connection.execute("ATTACH DATABASE ?1 AS written", [path]).expect("attached");
    for table in texts(&connection, TABLES, &[]) {
        let columns: Vec<String> =
            texts(&connection, COLUMNS, &[&table]).iter().map(|it| format!("\"{it}\"")).collect();
        let columns = columns.join(", ");
        let copy = format!(
            "DELETE FROM main.{table};
             INSERT INTO main.{table} ({columns}) SELECT {columns} FROM written.{table};"
        );
        connection.execute_batch(&copy).expect("the rows fit");
    }
    for (_, sql) in &triggers {
        connection.execute_batch(sql).expect("made");
    }
    connection.execute_batch("DETACH DATABASE written").expect("detached");
    connection.close().map_err(|(_, error)| error).expect("it closes");
    schema
}

/// All migrations but the last one.
fn migrate(connection: &Connection) -> i64 {
    let folder = fs::read_dir(workspace().join("migrations/sqlite")).expect("readable");
    let paths = folder.map(|it| it.expect("readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|it| it.extension().is_some_and(|it| it == "sql")).collect();
    files.sort();
    files.pop();
    let mut schema = 0;
    for file in files {
        let sql = fs::read_to_string(&file).expect("readable");
        let name = file.file_stem().and_then(|it| it.to_str()).expect("UTF-8");
        let (version, description) = name.split_once('_').expect("a number and words");
        schema = version.parse().expect("a number");
        connection.execute_batch(&format!("BEGIN; {sql}\n; COMMIT;")).expect("migrated");
        let applied =
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (?1, ?2, TRUE, ?3, 1)";
        let checksum = Sha384::digest(&sql).to_vec();
        let noted = (schema, description.replace('_', " "), checksum);
        connection.execute(applied, noted).expect("noted");
    }
    schema
}

/// All rows of all tables of a database, but for the notes of its server.
pub fn rows(file: &Path) -> Vec<(String, Vec<String>)> {
    let connection = Connection::open(file).expect("it opens");
    let tables = texts(&connection, TABLES, &[]);
    let tables = tables.into_iter().filter(|it| it != "upkeep");
    let rows_of = |table: &String| {
        let columns = "SELECT group_concat('quote(\"' || name || '\")', ' || '' '' || ')
                       FROM pragma_table_info(?1)";
        let columns = texts(&connection, columns, &[table]).remove(0);
        texts(&connection, &format!("SELECT {columns} FROM {table} ORDER BY 1"), &[])
    };
    tables.map(|it| (it.clone(), rows_of(&it))).collect()
}

fn texts(connection: &Connection, sql: &str, arguments: &[&String]) -> Vec<String> {
    let mut statement = connection.prepare(sql).expect("the query is right");
    let arguments = rusqlite::params_from_iter(arguments);
    let rows = statement.query_map(arguments, |row| row.get(0)).expect("it runs");
    rows.map(|it| it.expect("a text")).collect()
}
