//! A server as the earlier node of a roll: a newer version changes the tables under it, as its migrations would.

use waxwing_tests::{Launch, Server};
use waxwing_tools::Cluster;

use super::assert_delivers;
use crate::dashboard::Browser;

const DATABASE: &str = "newer_tables";
/// A node of a newer version that stops just now, and takes no shares.
const NEWER_NODE: &str = "INSERT INTO nodes
        (id, name, directory, version, migration, started_at, seen_at, seen_until, skew_ms, state)
    SELECT 'nod_01KAZQ5C2N0000000000000000', 'newer', 'elsewhere', '99.0.0', 9001, started_at, seen_at,
           seen_until + 3600000, 0, 'draining'
    FROM nodes WHERE state = 'live'";

/// A migration of a newer version, and what the database keeps of it.
fn applied(number: i64, needed: i64, change: &str) -> String {
    format!(
        "{change}; INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({number}, 'later (needs {needed})', TRUE, '\\x00', 1)"
    )
}

#[tokio::test]
async fn a_server_works_on_expanded_tables_and_stops_on_contracted_ones() {
    let Some(cluster) = Cluster::shared("a server on the tables of a newer one") else { return };
    let url = cluster.create(DATABASE);
    let launch = Launch::dev().with("store", "url", &url).with("node", "renew_s", "1");
    let mut server = Server::start(launch);
    let expand = "ALTER TABLE messages ADD COLUMN later TEXT NOT NULL DEFAULT '';
        ALTER TABLE queue ADD COLUMN later BIGINT";
    drop(cluster.run(DATABASE, &applied(9001, 0, expand)));
    drop(cluster.run(DATABASE, NEWER_NODE));
    assert_delivers(&server, "beside@example.com").await;
    let said = server.cli_text(&["nodes"]);
    assert!(said.contains("99.0.0 (schema 9001)"), "{said}");
    assert!(said.contains("a rolling upgrade is under way"), "{said}");
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/ops").await;
    assert!(page.html.contains("A rolling upgrade is under way"), "{}", page.html);
    assert!(page.html.contains("schema 9001"), "{}", page.html);
    drop(browser);

    drop(cluster.run(DATABASE, "DELETE FROM nodes WHERE name = 'newer'"));
    server.restart();
    assert_delivers(&server, "back@example.com").await;
    assert!(!server.cli_text(&["nodes"]).contains("a rolling upgrade is under way"));

    let contract = "ALTER TABLE messages DROP COLUMN later";
    drop(cluster.run(DATABASE, &applied(9002, 9001, contract)));
    assert!(!server.wait_for_exit().success());
    let log = server.log();
    assert!(log.contains("a newer version has changed the tables"), "{log}");
    let refused = server.cli_fails(&["nodes"]);
    assert!(refused.contains("newer version of Waxwing (migration 9002)"), "{refused}");
}
