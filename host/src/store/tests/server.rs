//! PostgreSQL: each statement is prepared there, and all that a store must hold is asked of it as well.

use std::collections::BTreeMap;
use std::process::Command;

use sqlx::{AssertSqlSafe, Column as _, Connection as _, Executor as _, PgConnection};
use sqlx::{SqlSafeStr as _, Statement as _, TypeInfo as _};
use waxwing_tools::Cluster;

use super::open::SERVER;
use super::plans::{SECOND, all_statements, sources};
use super::*;
use crate::store::database::for_server;

/// What a store binds and reads there.
const KINDS: [&str; 7] = ["INT8", "TEXT", "BYTEA", "BOOL", "INT8[]", "TEXT[]", "BYTEA[]"];
/// Columns that nobody reads: whether there is a row is the answer.
const NOT_READ: [&str; 4] = ["used", "is_there", "one", "?column?"];
/// Statements of which the server cannot tell a parameter's type by itself, as the driver tells it; and those that are put
/// together from parts. The suite runs all of them.
const UNTOLD: [&str; 4] =
    ["drop_content: conversations", "retry_all: look", "waited_for", "webhook_deliveries"];
const PARTS: [&str; 5] =
    ["decisions", "message_row", "messages", "messages: a batch", "suppressions"];
/// What is said to a server alone, where others write beside a transaction.
const OF_A_SERVER: [&str; 4] =
    ["commit: numbers of debits", "lock_accounts", "lock_lanes", "lock_lanes_of"];
/// What is said to a file alone.
pub(super) const OF_A_FILE: [&str; 3] = ["convert", "excess", "gauges: file"];
/// Tests that are about SQLite: its file, its plans and its words.
const ABOUT_A_FILE: [&str; 22] = [
    "store::database::",
    "store::embedded::",
    "store::integrity::",
    "store::tests::dialect",
    "store::tests::plans",
    "store::tests::roll",
    "store::tests::server",
    "store::tests::states",
    "store::tests::transactions",
    "store::tests::writers",
    "a_database_of_a_newer_version_is_refused_by_name_and_left_as_it_is",
    "a_directory_of_schema_16_is_migrated_with_its_layouts_and_examples",
    "a_list_that_takes_too_long_is_interrupted_and_the_next_one_is_not",
    "a_look_that_was_given_up_answers_nobody",
    "after_a_full_disk_the_store_writes_again_without_a_restart",
    "a_deleted_account_leaves_no_row_in_any_table_and_takes_no_other_one",
    "each_list_walks_its_index_from_hour_to_hour_and_sorts_nothing",
    "no_statement_of_retention_walks_over_a_table",
    "readers_of_lists_never_take_the_connections_that_sends_need",
    "requests_that_wait_together_share_one_look",
    "the_lists_walk_an_index",
    "the_size_gauge_equals_the_database_file",
];
/// The tests that are run.
const HELD: [&str; 1] = ["store::"];
/// At least so many tests are about no file.
const FEWEST: usize = 100;

/// The second texts, by the name of the statement.
pub(super) fn second_texts() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (_, source) in sources() {
        for text in super::dialect::literals(&source) {
            let text = text.replace("\\\"", "\"");
            let name = text.strip_prefix("-- ").and_then(|it| it.strip_prefix(SECOND));
            let name = name.and_then(|it| it.lines().next()).map(str::to_owned);
            found.extend(name.map(|name| (name, text)));
        }
    }
    found
}

/// The text that PostgreSQL gets. A statement that inserts rows stands in the source without them.
fn prepared(text: &str) -> String {
    let text = for_server(text).into_owned();
    if !text.contains("INSERT INTO") || text.contains("VALUES") || text.contains("SELECT") {
        return text;
    }
    let columns = text.rsplit_once('(').map_or(0, |(_, columns)| columns.split(',').count());
    let numbers: Vec<String> = (1..=columns).map(|it| format!("${it}")).collect();
    format!("{text} VALUES ({})", numbers.join(", "))
}

/// What is wrong with the types of a statement.
async fn faults(connection: &mut PgConnection, name: &str, text: &str) -> Vec<String> {
    let statement = connection.prepare(AssertSqlSafe(prepared(text)).into_sql_str()).await;
    let statement = match statement {
        Ok(statement) => statement,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let parameters = statement.parameters().and_then(sqlx::Either::left).unwrap_or_default();
    let parameters = parameters.iter().map(|it| ("a parameter", it.name()));
    let columns = statement.columns().iter().map(|it| (it.name(), it.type_info().name()));
    parameters
        .chain(columns.filter(|(of, _)| !NOT_READ.contains(of)))
        .filter(|(_, kind)| !KINDS.contains(kind))
        .map(|(of, kind)| format!("{name}: {of} is {kind}"))
        .collect()
}

#[tokio::test]
async fn postgresql_prepares_every_statement_with_the_types_of_the_store() {
    let Some(cluster) = Cluster::shared("the store's statements on PostgreSQL") else { return };
    let url = cluster.create("prepared");
    Store::open(Place::Server(url.clone())).await.expect("opens").close().await;
    let mut connection = PgConnection::connect(&url).await.expect("it runs");
    let mut second = second_texts();
    let elsewhere = [&UNTOLD[..], &PARTS, &OF_A_FILE].concat();
    let (mut broken, mut looked_at) = (Vec::new(), 0);
    for (name, text) in all_statements() {
        let text = second.remove(&name).unwrap_or(text);
        if !elsewhere.contains(&name.as_str()) {
            broken.extend(faults(&mut connection, &name, &text).await);
            looked_at += 1;
        }
    }
    for (name, text) in &second {
        broken.extend(faults(&mut connection, name, text).await);
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(looked_at > 250, "{looked_at} statements");
    let alone: Vec<&str> = second.keys().map(String::as_str).collect();
    assert_eq!(alone, OF_A_SERVER, "second texts without a first one");
}

#[test]
fn what_a_store_must_hold_holds_on_postgresql() {
    if std::env::var_os(SERVER).is_some() {
        return;
    }
    let Some(cluster) = Cluster::shared("all of the store on PostgreSQL") else { return };
    let mut suite = Command::new(std::env::current_exe().expect("a test knows its own file"));
    suite.env(SERVER, cluster.url("postgres")).args(HELD);
    suite.args(ABOUT_A_FILE.iter().flat_map(|it| ["--skip", it]));
    let ran = suite.output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let passed =
        said.lines().find_map(|it| it.strip_prefix("test result: ok. ")?.split(' ').next());
    let passed: usize = passed.and_then(|it| it.parse().ok()).expect("a number");
    assert!(passed > FEWEST, "{passed} tests ran on PostgreSQL");
}

#[tokio::test]
async fn a_node_accepts_nothing_in_a_database_that_was_moved_elsewhere() {
    let Some(cluster) = Cluster::shared("a moved database on PostgreSQL") else { return };
    let store = Store::open(Place::Server(cluster.create("left_behind"))).await.expect("opens");
    let account = test_data::open_account(&store, 5, NOW).await;
    let revision = store.revision().await.expect("readable");
    let job = || test_data::job(revision, account, vec![message(1)], NOW);
    store.commit(&[job()], NOW).await.expect("commits");
    // As `waxwing migrate` leaves it, while this process stood still.
    let moved = "INSERT INTO upkeep (name, value) VALUES ('moved to', 'elsewhere')";
    sql(moved).run(&store.db.writer).await.expect("written");
    let refused = store.commit(&[job()], NOW).await.expect_err("refused");
    assert!(refused.is_moved(), "{refused}");
    let balance = store.account(account, NOW).await.expect("there").balance;
    assert_eq!(balance, Credits(4), "only what was accepted before is paid");
}

#[tokio::test]
async fn a_commit_whose_answer_does_not_come_says_that_nobody_knows() {
    let Some(cluster) = Cluster::shared("a lost connection to PostgreSQL") else { return };
    let store = Store::open(Place::Server(cluster.create("lost"))).await.expect("opens");
    let mut tx = store.db.begin("lost").await.expect("begins");
    let pid = "SELECT CAST(pg_backend_pid() AS BIGINT) AS pid";
    let pid: i64 = column(&sql(pid).one(&mut tx).await.expect("runs"), "pid").expect("a number");
    let end = "SELECT pg_terminate_backend(CAST($1 AS INTEGER)) AS done";
    sql(end).bind(pid).one(&store.db.readers).await.expect("ended");
    let unknown = tx.commit().await.expect_err("it is gone");
    assert!(unknown.to_string().contains("is not known"), "{unknown}");
    store.probe(NOW).await.expect("a new connection writes");
}

#[tokio::test]
async fn the_first_host_that_answers_as_a_primary_is_worked_with() {
    let Some(cluster) = Cluster::shared("several hosts of PostgreSQL") else { return };
    drop(cluster.create("hosts"));
    let folder = cluster.socket().parent().expect("a folder").display().to_string();
    let url = format!("postgres://waxwing@127.0.0.1:1,{}/hosts", folder.replace('/', "%2F"));
    let store = Store::open(Place::Server(url)).await.expect("opens");
    store.probe(NOW).await.expect("it writes");
}

#[tokio::test]
async fn after_a_statement_that_failed_a_transaction_does_not_commit() {
    let Some(cluster) = Cluster::shared("transactions that fail on PostgreSQL") else { return };
    let store = Store::open(Place::Server(cluster.create("failed"))).await.expect("opens");
    let mut tx = store.db.begin("failed").await.expect("begins");
    sql("UPDATE probe SET written_at = 7").run(&mut tx).await.expect("written");
    let refused = sql("INSERT INTO probe (id, written_at) VALUES (1, 1)").run(&mut tx).await;
    assert!(refused.is_err_and(|it| it.is_constraint()), "as on a file");
    assert!(tx.commit().await.is_err(), "PostgreSQL itself answers with no error");
}

#[tokio::test]
async fn what_cannot_be_worked_with_is_refused_in_words() {
    let Some(cluster) = Cluster::shared("refusals of PostgreSQL") else { return };
    let refused = async |url: &str| {
        let place = Place::Server(url.to_owned());
        let refused = Store::open(place.clone()).await.expect_err("refused").to_string();
        assert_eq!(Store::check(&place).await.expect_err("refused").to_string(), refused);
        refused
    };
    assert!(refused("postgres://a b/").await.contains("not an address of a database"));
    let nowhere = refused("postgres://user:secret@127.0.0.1:1/nowhere").await;
    assert!(nowhere.contains("127.0.0.1:1, database nowhere) cannot be reached"), "{nowhere}");
    assert!(!nowhere.contains("secret"), "{nowhere}");
    let several = refused("postgres://user:secret@127.0.0.1:1,127.0.0.1:2/nowhere").await;
    assert!(several.contains("no host in store.url is a primary"), "{several}");
    assert!(several.contains("127.0.0.1:1,") && several.contains("127.0.0.1:2,"), "{several}");
    assert!(!several.contains("secret"), "{several}");
    let missing = refused(&cluster.url("missing")).await;
    assert!(missing.contains("database \"missing\" does not exist"), "{missing}");

    let url = cluster.create("newer");
    let place = Place::Server(url.clone());
    Store::check(&place).await.expect("it is empty");
    Store::open(place.clone()).await.expect("opens").close().await;
    Store::check(&place).await.expect("it is of this version");
    let mut connection = PgConnection::connect(&url).await.expect("it runs");
    let later = "INSERT INTO _sqlx_migrations
         SELECT 9999, 'later', installed_on, TRUE, checksum, 1 FROM _sqlx_migrations LIMIT 1";
    sqlx::query(later).execute(&mut connection).await.expect("written");
    let newer = refused(&url).await;
    assert!(newer.contains("newer version of Waxwing (migration 9999)"), "{newer}");
}
