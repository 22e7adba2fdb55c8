//! Two servers on one database: what one of them installs, rolls back or takes into the sandbox inbox, the other one has.

use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Launch, Server};
use waxwing_tools::Cluster;

use super::shared::{PLAN, digest};
use crate::fixture::message;

#[tokio::test]
async fn what_one_node_installs_and_rolls_back_holds_on_the_other() {
    let Some(cluster) = Cluster::shared("two nodes on PostgreSQL") else { return };
    let url = cluster.create("two_nodes");
    let node = || Server::start(Launch::dev().with("store", "url", &url));
    let (one, other) = (node(), node());
    let components = ["price-one", "price-two"].map(waxwing_guests::component);
    for component in &components {
        assert_eq!(one.install(PLAN, "", component).await.status, 202);
        // A load balancer may ask another node.
        other.live(PLAN, &digest(component)).await;
        one.live(PLAN, &digest(component)).await;
    }
    let nodes = other.slot(PLAN).await["nodes"].clone();
    let nodes = nodes.as_array().expect("nodes");
    assert_eq!(nodes.len(), 2, "{nodes:?}");
    assert!(nodes.iter().all(|it| it["state"] == "active"), "{nodes:?}");

    one.send(one.key(), &message("ada@example.com")).await.message_id();
    other.wait_for_mail_to("ada@example.com").await;

    assert_eq!(other.order(PLAN, "rollback").await.status, 200);
    one.live(PLAN, &digest(&components[0])).await;
    other.live(PLAN, &digest(&components[0])).await;
    one.send(one.key(), &message("eve@example.com")).await.message_id();
    other.wait_for_mail_to("eve@example.com").await;
}

#[tokio::test]
async fn a_quota_counts_what_other_nodes_have_accepted() {
    let Some(cluster) = Cluster::shared("a quota of two nodes on PostgreSQL") else { return };
    let url = cluster.create("quota_of_nodes");
    let node = || Server::start(Launch::dev().with("store", "url", &url));
    let (one, other) = (node(), node());
    one.place(
        "plan-policy.toml",
        "[[settings.plans]]\nname = \"free\"\n[[settings.plans]]\nname = \"pro\"\ndailyLimit = 6\n",
    );
    for server in [&one, &other] {
        let is_set = |view: &Value| {
            (view["active"]["settings"]["plans"][1]["dailyLimit"] == 6).then_some(())
        };
        server.until_slot(PLAN, "the limit holds", is_set).await;
    }
    let account = one.open_account("pro", 100);
    // From now on the other node knows the account.
    other.send(&account.key, &message("n0@example.com")).await.message_id();
    for n in 1..6 {
        one.send(&account.key, &message(&format!("n{n}@example.com"))).await.message_id();
    }
    // A node knows what others had accepted a second ago.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let refused = other.send(&account.key, &message("n6@example.com")).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(one.balance(&account.id), 100 - 6);
}
