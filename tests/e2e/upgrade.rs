//! A server that is started on the data directory of a version before.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha384};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use waxwing_tests::{Server, only_on_a_file};

use crate::fixture::message;

const ANN: &str = "acc_01M8449B62GFF0S45VD6YHK67G";
/// The master key of the server that wrote the rows.
const MASTER_KEY: &[u8; 32] = b"\x39\x95\x42\x96\x6f\x7b\xbd\x36\xe4\x5e\xd5\x62\x24\x45\xf1\xa4\
    \x27\x0e\xa9\x9c\x25\x3e\x1d\xdf\xec\xab\xa6\x52\x56\x32\x68\x10";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above")
}

/// Makes the database as schema 15 was, with the rows that its server wrote.
async fn write_schema_15(file: &Path) {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let options = options.foreign_keys(false);
    let mut connection = SqliteConnection::connect_with(&options).await.expect("it opens");
    let table =
        "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL,
        installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL,
        checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)";
    run(&mut connection, table.to_owned()).await;
    let folder = fs::read_dir(repository().join("migrations/sqlite/earlier")).expect("readable");
    let mut files: Vec<PathBuf> = folder.map(|it| it.expect("readable").path()).collect();
    files.sort();
    for (version, file) in (1_i64..).zip(&files) {
        let sql = fs::read_to_string(file).expect("readable");
        let name = file.file_stem().and_then(|it| it.to_str()).expect("UTF-8");
        let applied = sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES ($1, $2, true, $3, 1)",
        );
        let name = name.split_once('_').expect("a number and words").1.replace('_', " ");
        let applied = applied.bind(version).bind(name).bind(Sha384::digest(&sql).to_vec());
        run(&mut connection, sql).await;
        applied.execute(&mut connection).await.expect("noted");
    }
    // Triggers would move the balances by the rows of the ledger once more.
    let rows = repository().join("host/src/store/database/convert/schema15.sql");
    let rows = fs::read_to_string(rows).expect("readable");
    let rows = format!(
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger';
         PRAGMA writable_schema = RESET; {rows}"
    );
    run(&mut connection, rows).await;
    connection.close().await.expect("it closes");
}

async fn run(connection: &mut SqliteConnection, sql: String) {
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
    statements.execute(connection).await.expect("the statements are right");
}

#[tokio::test]
async fn the_first_start_converts_the_database_and_commands_wait_for_it() {
    if only_on_a_file("PostgreSQL has no database of that version") {
        return;
    }
    let mut server = Server::dev();
    assert!(server.terminate().success());
    let file = server.data_dir().join("waxwing.db");
    fs::remove_file(&file).expect("removed");
    fs::remove_file(server.data_dir().join("dev.key")).expect("removed");
    fs::write(server.data_dir().join("master.key"), MASTER_KEY).expect("written");
    write_schema_15(&file).await;
    let refused = server.cli_fails(&["message", "list", "--account", ANN]);
    assert!(refused.contains("start the server on this data directory"), "{refused}");

    server.restart();
    assert!(server.log().contains("the database is converted"), "{}", server.log());
    let messages = server.messages(ANN);
    assert_eq!(messages.len(), 12);
    let oldest = messages.last().expect("there are some");
    assert_eq!(
        (&oldest["to"], &oldest["state"]),
        (&json!("ada@recipient.example"), &json!("relayed"))
    );
    let id = oldest["id"].as_str().expect("a text");
    assert_eq!(server.message(id)["decisions"].as_array().map(Vec::len), Some(3));
    assert_eq!(server.balance(ANN), 7);
    server.send(server.key(), &message("new@example.com")).await.message_id();
    server.wait_for_mail_to("new@example.com").await;
    server.wait_for_mail_to("late@recipient.example").await;
    server.restart();
    assert_eq!(server.log().matches("the database is converted").count(), 1, "once");
}
