//! What an operator of PostgreSQL does: roles with the least rights, a pooler, looks at the database, dump and restore. The
//! commands and statements are those of `host/POSTGRESQL.md`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use futures_util::future::join_all;
use serde_json::json;
use waxwing_tests::{Document, Launch, Server, documents, waxwing, workspace};
use waxwing_tools::{Cluster, PgBouncer};

use super::{assert_delivers, balance, on_postgres, refused_start};
use crate::fixture::message;

/// Connections of one server, of which one asks whether the primary is still it.
const CONNECTIONS: u32 = 15;
/// The engine's own programs in the commands of the document.
const ENGINE: [&str; 5] =
    ["pg_dump ", "createdb ", "psql --command='REVOKE", "psql --command='GRANT", "pg_restore "];

fn document() -> Document {
    documents().into_iter().find(|it| it.path == "host/POSTGRESQL.md").expect("it is there")
}

fn succeeded(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes the roles of the package with a database of that name; the URLs of the owner and of the servers.
fn with_roles(cluster: &Cluster, name: &str) -> [String; 2] {
    let script = workspace().join("host/packaging/postgres/roles.sql");
    let mut psql = cluster.client("psql").expect("installed");
    psql.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", &format!("--set=database={name}")]);
    succeeded(&psql.arg("--file").arg(script).arg("postgres").output().expect("psql runs"));
    ["waxwing_owner", "waxwing_serve"].map(|role| cluster.url_of(role, name))
}

/// A database with tables that the role of the servers may not see; the URL of that role.
fn with_hidden_tables(cluster: &Cluster) -> String {
    let name = "hidden_tables";
    let database =
        format!("CREATE DATABASE {name} OWNER waxwing_owner ENCODING 'UTF8' TEMPLATE template0");
    drop(cluster.run("postgres", &database));
    let [owner, serve] = ["waxwing_owner", "waxwing_serve"].map(|role| cluster.url_of(role, name));
    let mut nodes = waxwing();
    let home = tempfile::tempdir().expect("a folder");
    nodes.args(["nodes", "--data-dir"]).arg(home.path()).env("WAXWING_STORE__URL", owner);
    succeeded(&nodes.output().expect("the binary runs"));
    drop(cluster.run(name, "REVOKE USAGE ON SCHEMA public FROM PUBLIC"));
    serve
}

/// What `check` says that is wrong with a store.
fn refused_check(home: &Path, url: &str) -> String {
    let file = home.join("waxwing.toml");
    let quiet =
        "[http]\nlisten = \"127.0.0.1:0\"\n[smtp]\nenabled = false\n[inbox]\nenabled = false\n";
    let data = home.join("checked").display().to_string();
    let store = format!("[store]\nurl = {url:?}\ndata_dir = {data:?}\n");
    fs::write(&file, format!("{quiet}{store}")).expect("written");
    let checked = waxwing().args(["check", "--config"]).arg(file).output().expect("it runs");
    assert!(!checked.status.success(), "{url}: it is refused");
    String::from_utf8(checked.stderr).expect("UTF-8")
}

#[tokio::test]
async fn a_role_that_may_only_write_rows_serves_what_the_owner_has_made() {
    let Some(cluster) = Cluster::shared("roles with the least rights on PostgreSQL") else {
        return;
    };
    let name = "two_roles";
    let [owner, serve] = with_roles(cluster, name);

    let home = tempfile::tempdir().expect("a folder");
    let hidden = with_hidden_tables(cluster);
    for (url, words) in
        [(&serve, "may not make tables"), (&hidden, "may not use the tables that the database")]
    {
        for why in [refused_start(&home.path().join("data"), url), refused_check(home.path(), url)]
        {
            assert!(why.contains(words), "{why}");
        }
    }

    let mut server = Server::start(Launch::posting_here().with("store", "url", &owner));
    assert_delivers(&server, "owner@example.com").await;
    server.restart_as(Launch::posting_here().with("store", "url", &serve));
    assert_delivers(&server, "serve@example.com").await;
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 2);
    assert!(!server.log().contains("permission denied"), "it has all rights that it needs");

    for statement in [
        "CREATE TABLE other (id BIGINT)",
        "ALTER TABLE ledger DISABLE TRIGGER USER",
        "DELETE FROM ledger",
        "UPDATE ledger SET amount = 0",
        "TRUNCATE messages",
        "DROP TABLE queue",
    ] {
        let mut psql = cluster.client("psql").expect("installed");
        psql.args(["--no-psqlrc", "--username", "waxwing_serve", "--command", statement, name]);
        let refused = psql.output().expect("psql runs");
        assert!(!refused.status.success(), "{statement}");
    }
    let mut nodes = waxwing();
    nodes.args(["nodes", "--json", "--data-dir"]).arg(server.data_dir());
    let nodes = nodes.env("WAXWING_STORE__URL", &owner).output().expect("the binary runs");
    assert!(succeeded(&nodes).contains("\"live\""), "a command of the owner opens the database");
}

#[tokio::test]
async fn a_pooler_in_session_mode_stands_between_a_server_and_postgresql() {
    let unproven = "PgBouncer before PostgreSQL";
    let Some(cluster) = Cluster::shared(unproven) else { return };
    let settings = document().blocks("ini").into_iter().find(|it| it.contains("pool_mode"));
    let settings = settings.expect("the settings of the pooler");
    let Some(pooler) = PgBouncer::before(cluster, &settings, unproven) else { return };
    drop(cluster.create("pooled"));
    let launch = Launch::dev().with("store", "url", &pooler.url("pooled"));
    let mut server = Server::start(launch);
    assert_delivers(&server, "ada@example.com").await;
    server.kill9();
    server.restart();
    assert_delivers(&server, "eve@example.com").await;
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 2);
}

#[tokio::test]
async fn the_statements_that_watch_the_database_run_and_connections_are_few() {
    let Some(server) = on_postgres("watched", "the statements that watch PostgreSQL") else {
        return;
    };
    let cluster = Cluster::shared("").expect("it runs");
    assert_delivers(&server, "ada@example.com").await;
    let mut ran = 0;
    for statement in document().blocks("sql") {
        if statement.starts_with("-- watch: ") || statement.starts_with("-- owner: ") {
            drop(cluster.run("watched", &statement));
            ran += 1;
        }
    }
    assert!(ran > 5, "only {ran} statements were found");
    let sends = (0..60).map(|number| {
        let to = format!("n{number}@example.com");
        let server = &server;
        async move { server.send(server.key(), &message(&to)).await.message_id() }
    });
    let sent = join_all(sends).await;
    let connections = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'waxwing' AND datname = 'watched'";
    let connections: u32 =
        cluster.run("watched", connections).parse().expect("psql prints a number");
    assert!((2..=CONNECTIONS).contains(&connections), "{connections} for {} sends", sent.len());
}

#[tokio::test]
async fn a_dump_restored_beside_holds_what_waited_and_delivers_it_once() {
    // The names are those of the document.
    let unproven = "a dump of PostgreSQL and its restore";
    let Some(cluster) = Cluster::with(&[], unproven) else { return };
    let [owner, _serve] = with_roles(&cluster, "waxwing");
    let mut server = Server::start(Launch::posting_here().with("store", "url", &owner));
    assert_delivers(&server, "before@example.com").await;
    server.terminate();
    assert!(server.cli(&["queue", "hold"])["heldFrom"].is_string());
    server.restart();
    let id = server.send(server.key(), &message("waits@example.com")).await.message_id();

    let home = server.scratch("home");
    fs::create_dir(&home).expect("a folder");
    let mut commands = document().commands();
    commands.retain(|it| ENGINE.iter().any(|program| it.starts_with(program)));
    assert_eq!(commands.len(), ENGINE.len(), "{commands:?}");
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &command]).current_dir(&home).envs(cluster.environment());
        succeeded(&shell.output().expect("sh runs"));
    }
    server.kill9();

    let may = "SELECT has_schema_privilege('waxwing_owner', 'public', 'CREATE')
        AND has_database_privilege('waxwing_serve', 'waxwing_restored', 'CONNECT')
        AND NOT has_database_privilege('public', 'waxwing_restored', 'CONNECT')";
    assert_eq!(cluster.run("waxwing_restored", may), "t", "the rights are those of before");
    let restored = cluster.url_of("waxwing_serve", "waxwing_restored");
    server.restart_as(Launch::posting_here().with("store", "url", &restored));
    assert_eq!(server.message(&id)["state"], "queued");
    let why = server.cli(&["queue", "why", &id]);
    assert_eq!(why["waitsFor"], "after_restore", "{why}");
    let released = server.cli(&["queue", "release"]);
    assert_eq!(released["wasHeld"], json!(true), "{released}");
    let mails = server.wait_for_mails(2).await;
    let to: Vec<&str> = mails.iter().map(|it| it.to.as_str()).collect();
    assert!(to.contains(&"before@example.com") && to.contains(&"waits@example.com"), "{to:?}");
    assert_delivers(&server, "after@example.com").await;
    assert_eq!(server.inbox().await.len(), 3, "each arrived once");
    assert_eq!(server.message(&id)["state"], "delivered");
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 3);
}
