//! Three nodes under load, each killed in turn and started again, while a plugin is exchanged and events are posted.

use std::sync::Arc;

use tokio::sync::RwLock;
use waxwing_tests::{Receiver, Server, until_async};
use waxwing_tools::Cluster;

use super::lab::{Lab, PATIENCE, unhurried, until_shared};
use super::load::{Load, Nodes};
use super::shared::{PLAN, digest};
use super::whole::{Database, Refusals, UnderWay, Whole};
use crate::crash::kill;

const DATABASE: &str = "killed_in_turn";
const NAMES: [&str; 3] = ["one", "two", "three"];
/// Of all nodes together: two of each.
const CONNECTIONS: usize = 6;
/// Where one of three is gone, the two others have three each; one that starts has two of its own until they have heard of
/// it, which is their next renewal.
const CONNECTIONS_AT_A_START: usize = 8;
/// Messages before a node is killed, and while it is not there.
const SENDS: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_killed_in_turn_lose_nothing_and_pay_once() {
    let Some(cluster) = Cluster::shared("three nodes that are killed in turn") else { return };
    let database = Database { cluster, name: DATABASE };
    let components = ["price-one", "price-two"].map(waxwing_guests::component);
    let [first, second] = components.each_ref().map(Vec::as_slice);
    let lab = Lab::at(cluster.create(DATABASE)).await;
    lab.post.set(unhurried());
    let start = |name: &str| {
        Server::start(lab.dev(name).with("delivery", "connections", &CONNECTIONS.to_string()))
    };
    let one = start(NAMES[0]);
    let keys = lab.keys(&one).await;
    let receiver = Receiver::start().await;
    one.make_webhook(&keys.account.key, &receiver, &["message.relayed"]).await;
    let all = [one, start(NAMES[1]), start(NAMES[2])];
    let nodes: Nodes = Arc::new(all.into_iter().map(RwLock::new).collect());
    until_shared(&*nodes[0].read().await, &keys, &NAMES).await;
    let load = Load::start(&nodes, &keys.account.key, (4, 2));
    let mut under_way = UnderWay::default();
    // As an operator does, who is told that a busy database did not take the component in time.
    let install = async |node: usize, component: &[u8]| {
        let taken = async || {
            let installed = nodes[node].read().await.install(PLAN, "", component).await;
            assert!([202, 503].contains(&installed.status), "{}", installed.body);
            (installed.status == 202).then_some(())
        };
        until_async("the component is taken", PATIENCE, taken).await;
    };
    let until_all_run = async |component: &[u8]| {
        for node in nodes.iter() {
            node.read().await.goes_live(PLAN, &digest(component)).await;
        }
    };

    for (victim, name) in NAMES.into_iter().enumerate() {
        load.until_accepted(SENDS).await;
        let other = (victim + 1) % NAMES.len();
        // It is under way while a node is not there: the others wait for a while for what that one says.
        match victim {
            0 => install(other, first).await,
            1 => {}
            _ => {
                until_all_run(first).await;
                install(other, second).await;
            }
        }
        kill(nodes[victim].read().await.process_id().expect("it runs"));
        under_way.add(database, name);
        load.until_accepted(SENDS).await;
        if victim == 1 {
            // This one starts after the others have taken its work over, the two others before that.
            until_shared(&*nodes[other].read().await, &keys, &[NAMES[0], NAMES[2]]).await;
        }
        let mut killed = nodes[victim].write().await;
        killed.wait_for_exit();
        killed.restart();
        drop(killed);
        until_shared(&*nodes[other].read().await, &keys, &NAMES).await;
        load.until_accepted_by(victim).await;
    }
    until_all_run(second).await;

    let sent = load.finish().await;
    let whole = Whole {
        database,
        sent,
        under_way,
        posts: &[&lab.post],
        connections: CONNECTIONS_AT_A_START,
        refusals: Refusals::Final,
    };
    whole.assert_ledger_and_mail_are_whole().await;
    whole.assert_each_event_was_told(&receiver).await;
}
