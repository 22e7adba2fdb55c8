//! A node that is cut off from the database, and comes back: it refuses in time, sends nothing that it may not settle, and
//! the other node does its work meanwhile.

use std::sync::Arc;

use tokio::sync::RwLock;
use waxwing_mx::MxServer;
use waxwing_tests::{Port, Server, Smtp, until_async};
use waxwing_tools::Cluster;

use super::lab::{Lab, PATIENCE, is_in, nodes as listed, raw, sender, unhurried, until_shared};
use super::load::{Load, Nodes};
use super::proxy::{Network, Proxy};
use super::whole::{Database, Refusals, UnderWay, Whole};
use crate::fixture::smarthosts;

/// Longer than a session of a node that is gone without a word may keep the others waiting.
const HOLD_S: &str = "12";
/// To each of the two smarthosts: each node has its own.
const CONNECTIONS: usize = 4;
const SENDS: usize = 30;
/// Their places in the list of nodes.
const NEAR: usize = 0;
const FAR: usize = 1;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_database_is_silent_refuses_in_time_and_comes_back() {
    Box::pin(come_back_after("silent_network", Network::Silent)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_database_refuses_connections_refuses_and_comes_back() {
    Box::pin(come_back_after("refusing_network", Network::Refusing)).await;
}

async fn come_back_after(name: &str, cut: Network) {
    let Some(cluster) = Cluster::shared("a node that is cut off from PostgreSQL") else { return };
    let database = Database { cluster, name };
    let lab = Lab::at(cluster.create(name)).await;
    let proxy = Proxy::before(cluster.socket()).await;
    // What the far node sends is seen apart.
    let beyond = MxServer::start(unhurried());
    lab.post.set(unhurried());
    let launch = |name: &str| {
        let connections = CONNECTIONS.to_string();
        lab.dev(name).with("node", "hold_s", HOLD_S).with("delivery", "connections", &connections)
    };
    let near = Server::start(launch("near"));
    let keys = lab.keys(&near).await;
    let far = launch("far").with("store", "url", &Cluster::url_through(proxy.port(), name)).with(
        "delivery",
        "smarthosts",
        &smarthosts(&beyond),
    );
    let far = Server::start(far);
    let nodes: Nodes = Arc::new(vec![RwLock::new(near), RwLock::new(far)]);
    until_shared(&*nodes[NEAR].read().await, &keys, &["near", "far"]).await;
    let mut open = Smtp::secured(&*nodes[FAR].read().await, Port::Implicit).await;
    open.log_in(&keys.account.key).await.assert(235);
    let load = Load::start(&nodes, &keys.account.key, (4, 2));
    load.until_accepted(SENDS).await;
    load.until_accepted_by(FAR).await;

    proxy.set(cut);
    let mut under_way = UnderWay::default();
    let to = load.recipient();
    load.doubt(&to);
    let refused = async {
        let reply = open.offer((&sender(), &to), &raw(&to, 500)).await.expect("it answers");
        reply.assert(451);
        load.until_refused_by(FAR).await;
    };
    let taken_over = async {
        let ended = || {
            under_way.add(database, "far");
            async {
                let all = listed(&*nodes[NEAR].read().await, &keys).await;
                is_in(&all, "far", "gone").then_some(())
            }
        };
        until_async("the time of the far node is over", PATIENCE, ended).await;
        // It may begin nothing since then, and what it had begun before takes less than that.
        let sent = beyond.message_count();
        until_shared(&*nodes[NEAR].read().await, &keys, &["near"]).await;
        sent
    };
    let ((), sent) = tokio::join!(refused, taken_over);
    load.until_accepted_by(NEAR).await;
    let left =
        "SELECT count(*) FROM queue q JOIN nodes n ON n.id = q.lease_owner WHERE n.name = 'far'";
    assert_eq!(database.number(left), 0, "what it had under way is the other node's");
    assert_eq!(beyond.message_count(), sent, "it sends nothing that it may not settle");

    proxy.set(Network::Whole);
    until_shared(&*nodes[NEAR].read().await, &keys, &["near", "far"]).await;
    load.until_accepted_by(FAR).await;
    let again = || async { (beyond.message_count() > sent).then_some(()) };
    until_async("it delivers again", PATIENCE, again).await;
    let whole = Whole {
        database,
        sent: load.finish().await,
        under_way,
        posts: &[&lab.post, &beyond],
        connections: CONNECTIONS,
        refusals: Refusals::Doubtful,
    };
    whole.assert_ledger_and_mail_are_whole().await;
}
