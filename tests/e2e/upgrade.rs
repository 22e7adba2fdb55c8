//! A server that is started on the data directory of a version before, and the way back.

mod before;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use rusqlite::Connection as File;
use serde_json::json;
use sha2::{Digest as _, Sha384};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use waxwing_tests::{Launch, Server, documents, from_now, only_on_a_file, until_async, waxwing};

use crate::fixture::{Database, message, with};
use crate::messages::send_tomorrow;
use before::{rows, write_version_before};

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

/// A session of the owner of dev's account: its cookie.
async fn log_in(client: &Client, server: &Server) -> String {
    let said = |name: &str| {
        let text = server.line()["dashboard"][name].as_str().expect("a text");
        let octets: Vec<String> = text.bytes().map(|it| format!("%{it:02X}")).collect();
        octets.concat()
    };
    let form = format!("email={}&password={}", said("email"), said("password"));
    let request = client.post(format!("{}/login", server.url())).body(form);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.header("sec-fetch-site", "same-origin").send().await.expect("answered");
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let mut cookies = answer.headers().get_all(SET_COOKIE).iter().filter_map(|it| it.to_str().ok());
    let cookie = cookies.find(|it| it.starts_with("__Host-waxwing=")).expect("a session");
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// What OPERATING.md says under *Going back*, as far as it is about files.
fn going_back(schema: i64) -> Vec<String> {
    let all = documents();
    let operating = all.iter().find(|it| it.path == "host/OPERATING.md").expect("it is there");
    let (_, chapter) = operating.text.split_once("### Going back").expect("a chapter");
    let (_, block) = chapter.split_once("```sh\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let of_files = |it: &&str| ["mkdir ", "mv ", "rm "].iter().any(|word| it.starts_with(word));
    let lines = block.lines().filter(of_files);
    lines.map(|it| it.replace("schema-30", &format!("schema-{schema}"))).collect()
}

#[tokio::test]
async fn an_upgrade_keeps_all_that_waits_and_a_way_back() {
    if only_on_a_file("no copy of a database that others keep is made before an upgrade") {
        return;
    }
    let launch = Launch::dev().with("webhooks", "allow_private", "[\"127.0.0.0/8\"]");
    let mut server = Server::start(launch);
    let (account, key) = (server.dev_output("accountId").to_owned(), server.key().to_owned());
    let client = Client::builder().no_proxy().tls_certs_only([]).redirect(Policy::none()).build();
    let client = client.expect("a client");
    // Nobody listens there: what is posted stays due.
    drop(server.cli(&["webhook", "create", "--account", &account, "https://127.0.0.1:9/"]));
    let cookie = log_in(&client, &server).await;
    let waiting = send_tomorrow(&server, &key, "tomorrow@example.com").await;
    let database = Database::of(&server).await;
    let soon = json!(from_now(Duration::from_secs(5)));
    server.send(&key, &with(message("soon@example.com"), "sendAt", soon)).await.message_id();
    let balance = server.balance(&account);
    let posts = || async {
        let posts = "SELECT count(*) FROM webhook_deliveries";
        (database.number(posts).await > 0).then_some(())
    };
    until_async("a post is due", Duration::from_secs(30), posts).await;
    database.close().await;
    assert!(server.terminate().success());
    let file = server.data_dir().join("waxwing.db");
    let schema = write_version_before(&file);
    let written = rows(&file);
    let count = |table: &str| written.iter().find(|(it, _)| it == table).map_or(0, |it| it.1.len());
    for table in ["messages", "queue", "sessions", "template_versions", "webhook_deliveries"] {
        assert!(count(table) > 0, "{table} has rows");
    }
    let refused = server.cli_fails(&["message", "list", "--account", &account]);
    assert!(refused.contains("start the server on this data directory"), "{refused}");

    server.restart();
    assert!(server.log().contains("the database is brought up to date"), "{}", server.log());
    let copy = server.data_dir().join(format!("waxwing.db.schema-{schema}"));
    assert_eq!(rows(&copy), written);
    server.wait_for_mail_to("soon@example.com").await;
    assert_eq!(server.message(&waiting)["state"], "scheduled");
    assert_eq!(server.balance(&account), balance);
    let page = client.get(format!("{}/app", server.url())).header(COOKIE, &cookie).send().await;
    assert_eq!(page.expect("answered").status(), StatusCode::OK, "the log-in is kept");
    server.send(&key, &message("new@example.com")).await.message_id();
    server.wait_for_mail_to("new@example.com").await;

    // For a database with one migration more this version is the one before.
    assert!(server.terminate().success());
    let later = "INSERT INTO _sqlx_migrations
        SELECT 9999, 'later', installed_on, TRUE, checksum, 1 FROM _sqlx_migrations LIMIT 1";
    let newer = File::open(&file).expect("it opens");
    newer.execute_batch(later).expect("noted");
    newer.close().map_err(|(_, error)| error).expect("it closes");
    let before = fs::read(&file).expect("readable");
    let mut start = waxwing();
    start.args(["dev", "--json", "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0"]);
    start.args(["--smtps", "127.0.0.1:0", "--data-dir"]).arg(server.data_dir());
    let output = start.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    for words in ["newer version of Waxwing (migration 9999)", "restore a backup", "schema-…"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(fs::read(&file).expect("readable"), before, "and nothing of it is changed");

    // As after a crash, when the last that was accepted is in it alone.
    let log = File::open(&file).expect("it opens");
    log.execute_batch("CREATE TABLE accepted_last (it)").expect("written");
    let kept = fs::read(server.data_dir().join("waxwing.db-wal")).expect("it is there");
    log.close().map_err(|(_, error)| error).expect("it closes");
    fs::write(server.data_dir().join("waxwing.db-wal"), &kept).expect("written");
    let steps = going_back(schema);
    assert_eq!(steps.len(), 3, "{steps:?}");
    for step in steps {
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", &step]).current_dir(server.data_dir()).status();
        assert!(done.expect("sh starts").success(), "{step}");
    }
    server.restart();
    let newer = server.data_dir().join("newer");
    assert!(newer.join("waxwing.db").is_file());
    assert_eq!(fs::read(newer.join("waxwing.db-wal")).expect("kept"), kept, "nothing is lost");
    assert_eq!(server.balance(&account), balance, "what was sent since is not in it");
    assert_eq!(server.message(&waiting)["state"], "scheduled");
    assert_eq!(server.cli(&["queue", "release"])["wasHeld"], true);
}
