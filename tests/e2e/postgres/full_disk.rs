//! The disk of the database is full: nothing is accepted that cannot be kept, what was accepted is not lost, and all goes on
//! without a restart when there is room again.

use waxwing_tools::Cluster;

use super::lab::{Lab, raw, sender};
use super::load::load_one_node;
use super::whole::{Database, Refusals, UnderWay, Whole};

const DATABASE: &str = "full_disk";
const CONNECTIONS: usize = 4;
const SENDS: usize = 30;
/// Of a message that finds no room in pages which are there already.
const LARGE: usize = 256 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_database_costs_no_message_and_needs_no_restart() {
    let unproven = "a node whose database has a full disk";
    let Some(cluster) = Cluster::on_small_disk(unproven) else { return };
    let database = Database { cluster: &cluster, name: DATABASE };
    let lab = Lab::at(cluster.create(DATABASE)).await;
    let (_node, load, mut open) = load_one_node(&lab, CONNECTIONS).await;
    load.until_accepted(SENDS).await;

    // A segment of the log that is there has its room already, and the checkpoint has made the next one: what fails is to
    // make a table larger. Without room for its log the database itself ends, as the tests of a killed one show.
    drop(cluster.run("postgres", "SELECT pg_switch_wal()"));
    drop(cluster.run("postgres", "CHECKPOINT"));
    cluster.disk().fill();
    let to = load.recipient();
    let reply = open.offer((&sender(), &to), &raw(&to, LARGE)).await.expect("it answers");
    reply.assert(451);
    load.until_refused_by(0).await;

    cluster.disk().free();
    load.until_accepted(SENDS).await;
    let to = load.recipient();
    let reply = open.offer((&sender(), &to), &raw(&to, LARGE)).await.expect("it answers");
    load.accept(&reply.message_id(), &to);
    let whole = Whole {
        database,
        sent: load.finish().await,
        under_way: UnderWay::default(),
        posts: &[&lab.post],
        connections: CONNECTIONS,
        refusals: Refusals::Final,
    };
    whole.assert_ledger_and_mail_are_whole().await;
}
