//! A database without a free connection, because others have them all.

use waxwing_tests::until_async;
use waxwing_tools::Cluster;

use super::lab::{Lab, PATIENCE, raw, sender};
use super::load::load_one_node;
use super::whole::{Database, Refusals, UnderWay, Whole};

const DATABASE: &str = "exhausted";
/// Three of them are for the superuser, who is the test.
const OPTIONS: [&str; 4] = ["-c", "max_connections=30", "-c", "superuser_reserved_connections=3"];
const OF_OTHERS: &str = "27";
const CONNECTIONS: usize = 4;
const SENDS: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_a_connection_refuses_and_goes_on_when_there_are_some() {
    let unproven = "a node whose database has no free connection";
    let Some(cluster) = Cluster::with(&OPTIONS, unproven) else { return };
    let database = Database { cluster: &cluster, name: DATABASE };
    drop(cluster.run("postgres", "CREATE ROLE mail LOGIN"));
    drop(cluster.run("postgres", &format!("CREATE DATABASE {DATABASE} OWNER mail")));
    let lab = Lab::at(cluster.url_of("mail", DATABASE)).await;
    let (_node, load, mut open) = load_one_node(&lab, CONNECTIONS).await;
    load.until_accepted(SENDS).await;

    let greedy = cluster.greedy();
    let taken = || async {
        // Each that the node has is taken by the others when it ends.
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mail'";
        drop(cluster.run("postgres", end));
        let greedy = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'greedy'";
        (cluster.run("postgres", greedy) == OF_OTHERS).then_some(())
    };
    until_async("others have all connections", PATIENCE, taken).await;
    let to = load.recipient();
    load.doubt(&to);
    let reply = open.offer((&sender(), &to), &raw(&to, 500)).await.expect("it answers");
    reply.assert(451);
    load.until_refused_by(0).await;

    drop(greedy);
    load.until_accepted(SENDS).await;
    let whole = Whole {
        database,
        sent: load.finish().await,
        // The process has lived through it, and knows what it has sent.
        under_way: UnderWay::default(),
        posts: &[&lab.post],
        connections: CONNECTIONS,
        refusals: Refusals::Doubtful,
    };
    whole.assert_ledger_and_mail_are_whole().await;
}
