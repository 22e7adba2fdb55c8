//! Versions on one database of PostgreSQL: what a migration does beside nodes of an earlier version, and what an earlier
//! version does with the tables of a later one. A version is the migrations that it has.

use sqlx::migrate::Migrator;
use waxwing_tools::Cluster;

use super::nodes::{HOUR, lease_by, node, register, renew};
use super::*;
use crate::nodes::{Placed, Share, moves};
use crate::store::database::{POSTGRES, migration, open_server};
use crate::store::{NodePhase, Renewal, is_rolling};

/// The number and the text of a migration.
type Further = (i64, &'static str);

const EXPAND: Further = (
    9001,
    "-- expand: earlier versions leave the column at its default\n
     ALTER TABLE messages ADD COLUMN later TEXT NOT NULL DEFAULT 'none';
     CREATE TABLE laters (id BIGINT PRIMARY KEY)",
);
const CONTRACT: Further = (
    9002,
    "-- contract after 9001: nobody has read the column since\n
     ALTER TABLE messages DROP COLUMN later",
);
const CONTRACT_AT_ONCE: Further =
    (9003, "-- contract: versions before it write into the table\nDROP TABLE laters");
/// Who waits for a lock in this database.
const WAITING: &str = "SELECT count(*) AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'";
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts the version that has these migrations besides those of this one.
async fn open(url: &str, further: &[Further]) -> Result<Store, StoreError> {
    let further = further.iter().map(|(number, text)| migration(*number, "later", text));
    let program = Migrator::with_migrations(POSTGRES.iter().cloned().chain(further).collect());
    Store::over(Box::pin(open_server(url, &program)).await?).await
}

/// How many migrations of later versions the database has run.
async fn further_migrations(store: &Store) -> i64 {
    let further = sql("SELECT count(*) AS further FROM _sqlx_migrations WHERE version > 9000");
    column(&further.one(&store.db.readers).await.expect("readable"), "further").expect("a number")
}

#[tokio::test]
async fn nodes_of_two_versions_lease_and_settle_each_others_mail() {
    let Some(cluster) = Cluster::shared("a roll from version to version") else { return };
    let url = cluster.create("roll");
    let older = open(&url, &[]).await.expect("opens");
    let (first, second) = (node("first"), NodeRecord { version: "2", ..node("second") });
    register(&older, &first, HOUR).await;
    renew(&older, &first).await;
    let newer = open(&url, &[EXPAND]).await.expect("it adds to the tables beside the other node");
    assert_eq!(register(&newer, &second, HOUR).await.others, 1);
    renew(&newer, &second).await;
    let (_, of_first) = renew(&older, &first).await;
    let (_, of_second) = renew(&newer, &second).await;
    assert!(is_rolling(&older.nodes().await.expect("readable")));

    let turns = [(&newer, &older, &first, &of_first), (&older, &newer, &second, &of_second)];
    for (accepting, delivering, node, held) in turns {
        let account = loop {
            let account = test_data::open_account(accepting, 10, NOW).await;
            if Share::of_sandbox(account).owner(&[first.id, second.id]) == Some(node.id) {
                break account;
            }
        };
        let revision = accepting.revision().await.expect("readable");
        let job = test_data::job(revision, account, vec![message(1)], NOW);
        let outcomes = accepting.commit(&[job], NOW).await.expect("commits");
        assert_eq!(accepted(&outcomes[0]), 1);
        let leases = lease_by(delivering, node, held).await;
        let [lease] = leases.as_slice() else { panic!("{leases:?}") };
        let done = settled(lease, AfterAttempt::Delivered);
        delivering.settle(&node.id.to_string(), &[done], NOW).await.expect("settles");
        let details = accepting.message(lease.message_id).await.expect("there");
        assert_eq!(details.row.state, MessageState::Delivered);
    }
    let later = sql("SELECT count(*) AS later FROM messages WHERE later = 'none'");
    let later = later.one(&older.db.readers).await.expect("readable");
    assert_eq!(column::<i64>(&later, "later").expect("a number"), 2);
}

#[tokio::test]
async fn an_earlier_version_starts_on_expanded_tables_not_on_contracted_ones() {
    let Some(cluster) = Cluster::shared("a roll that is rolled back") else { return };
    let url = cluster.create("rolled_back");
    let place = Place::Server(url.clone());
    open(&url, &[EXPAND]).await.expect("opens").close().await;
    Store::check(&place).await.expect("it can work with that");
    let older = Store::open(place.clone()).await.expect("it starts");
    let back = node("back");
    register(&older, &back, HOUR).await;
    renew(&older, &back).await;
    older.leave_node(back.id, NOW, interrupted).await.expect("it leaves");
    older.close().await;

    open(&url, &[EXPAND, CONTRACT]).await.expect("opens").close().await;
    open(&url, &[EXPAND]).await.expect("it does without what has gone").close().await;
    let refused = Store::open(place.clone()).await.expect_err("it needs what has gone");
    assert!(refused.is_newer() && refused.to_string().contains("migration 9002"), "{refused}");
    let checked = Store::check(&place).await.expect_err("the same");
    assert_eq!(checked.to_string(), refused.to_string());
}

#[tokio::test]
async fn what_nodes_work_with_goes_when_the_last_of_them_is_gone() {
    let Some(cluster) = Cluster::shared("a migration that takes away") else { return };
    let url = cluster.create("contracted");
    let oldest = open(&url, &[]).await.expect("opens");
    let (first, second) = (node("first"), node("second"));
    register(&oldest, &first, HOUR).await;
    let refused = open(&url, &[EXPAND, CONTRACT]).await.expect_err("refused").to_string();
    assert!(refused.contains("(migration 9002)"), "{refused}");
    assert!(refused.contains("without migration 9001"), "{refused}");
    assert!(refused.contains("nodes live: first (Waxwing 1);"), "{refused}");
    assert_eq!(further_migrations(&oldest).await, 0, "nothing was changed");

    let between = open(&url, &[EXPAND]).await.expect("opens");
    register(&between, &second, HOUR).await;
    let refused = open(&url, &[EXPAND, CONTRACT]).await.expect_err("refused").to_string();
    assert!(refused.contains("nodes live: first (Waxwing 1);"), "{refused}");
    oldest.leave_node(first.id, NOW, interrupted).await.expect("it leaves");
    let newest = open(&url, &[EXPAND, CONTRACT]).await.expect("the other one does without it");
    assert_eq!(further_migrations(&newest).await, 2);
    renew(&between, &second).await;

    let all = [EXPAND, CONTRACT, CONTRACT_AT_ONCE];
    let refused = open(&url, &all).await.expect_err("refused").to_string();
    assert!(refused.contains("nodes live: second (Waxwing 1); stop them"), "{refused}");
    let late = sql("UPDATE nodes SET seen_until = 0").run(&newest.db.writer).await;
    late.expect("written");
    open(&url, &all).await.expect("nobody counts on it any more");
    let renewal = Renewal { time: HOUR, phase: NodePhase::Live, skew_ms: 0 };
    let moves = |live: &[NodeId], placed: &[Placed]| moves(second.id, live, placed);
    let back = between.renew_node(&second, renewal, NOW, interrupted, moves).await;
    assert!(back.is_err_and(|it| it.is_newer()), "it stood still, and must not go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_behind_a_long_reader_holds_up_nobody_and_comes_afterwards() {
    let Some(cluster) = Cluster::shared("a migration behind a long reader") else { return };
    let url = cluster.create("long_reader");
    let older = open(&url, &[]).await.expect("opens");
    register(&older, &node("older"), HOUR).await;
    let look = || sql("SELECT id FROM messages");
    let mut reader = older.db.snapshot("reader").await.expect("begins");
    look().all(&mut reader).await.expect("reads");
    let others = async {
        let is_waiting = async || {
            let row = sql(WAITING).one(&older.db.readers).await.expect("readable");
            column::<i64>(&row, "waiting").expect("a number") > 0
        };
        while !is_waiting().await {}
        // Both wait behind the migration, which waits for the reader: without a bound for ever.
        look().all(&older.db.readers).await.expect("reads");
        older.probe(NOW).await.expect("writes");
        assert_eq!(further_migrations(&older).await, 0, "the reader is still there");
        reader.rollback().await.expect("ends");
    };
    let others = tokio::time::timeout(PATIENCE, others);
    let (newer, others) = tokio::join!(open(&url, &[EXPAND]), others);
    others.expect("nobody waits for as long as the reader reads");
    let newer = newer.expect("it was tried again");
    assert_eq!(further_migrations(&newer).await, 1);
}

#[tokio::test]
async fn beside_other_nodes_a_migration_works_for_a_bounded_time_only() {
    let Some(cluster) = Cluster::shared("a migration that takes long") else { return };
    let bounds = (
        9001,
        "-- expand: how long it may wait for a lock, and work\n
         CREATE TABLE bounds AS SELECT current_setting('lock_timeout') AS to_wait,
             CAST(extract(epoch FROM CAST(current_setting('statement_timeout') AS interval)) * 1000 AS BIGINT) AS to_work",
    );
    let long = (
        9002,
        "-- expand: as if its time were over\n
         DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END $$",
    );
    for (name, nodes, to_work) in [("bounds_alone", 0, 0..=0), ("bounds_beside", 1, 9_000..=10_000)]
    {
        let url = cluster.create(name);
        let older = open(&url, &[]).await.expect("opens");
        for _ in 0..nodes {
            register(&older, &node("older"), HOUR).await;
        }
        let newer = open(&url, &[bounds]).await.expect("opens");
        let row = sql("SELECT to_wait, to_work FROM bounds").one(&newer.db.readers).await;
        let row = row.expect("readable");
        assert_eq!(column::<String>(&row, "to_wait").expect("a text"), "500ms");
        assert!(to_work.contains(&column::<i64>(&row, "to_work").expect("milliseconds")));
        let refused = open(&url, &[bounds, long]).await.expect_err("refused").to_string();
        assert!(refused.contains("stop all nodes, and start this one then"), "{refused}");
        assert_eq!(further_migrations(&newer).await, 1, "nothing was changed");
    }
}
