//! Two servers on one database: what one of them installs, rolls back or takes into the sandbox inbox, the other one has.

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
