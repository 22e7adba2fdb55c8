//! Several servers over one database: each message is delivered once, whichever node took it, and whichever node dies.

use std::collections::BTreeSet;
use std::fs;

use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Receiver, Server, until, until_async};

use super::lab::{
    CREDITS, Keys, Lab, PATIENCE, SENDER, is_in, leases, nodes, send, until_nodes, until_shared,
};
use crate::fixture::{message, with};
use crate::health::{checked_with, finding};

/// Waits until all of these are relayed, each settled once and paid once.
async fn until_relayed(server: &Server, keys: &Keys, ids: &[String]) {
    for id in ids {
        let path = format!("/v1/messages/{id}");
        let ask = || async {
            let answer = server.get_as(&keys.account.key, &path).await;
            (answer.body["state"] == "relayed").then_some(())
        };
        until_async(&format!("{id} is relayed"), PATIENCE, ask).await;
    }
    assert_settled_once(server, keys, ids).await;
}

async fn assert_settled_once(server: &Server, keys: &Keys, ids: &[String]) {
    for id in ids {
        let path = format!("/v1/messages/{id}/events");
        let answer = server.get_as(&keys.account.key, &path).await;
        let events = answer.body["data"].as_array().expect("events").iter();
        let relayed = events.filter(|it| it["type"] == "message.relayed").count();
        assert_eq!(relayed, 1, "{}", answer.body);
    }
    let spent = i64::try_from(ids.len()).expect("a small number");
    assert_eq!(server.balance(&keys.account.id), i64::from(CREDITS) - spent);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_delivered_once_whichever_of_three_nodes_took_it() {
    let Some(lab) = Lab::new("three_nodes").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let (two, mut three) = (lab.node("two"), lab.node("three"));
    until_shared(&one, &keys, &["one", "two", "three"]).await;
    let is_seen = || async {
        let report = checked_with(&two, &keys.operator).await;
        (finding(&report, "nodes")["what"] == "3 nodes share the work.").then_some(())
    };
    until_async("the health check sees the nodes", PATIENCE, is_seen).await;
    let listed = three.cli(&["nodes"]);
    let names = listed.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str());
    assert!(names.eq(["one", "two", "three"]), "{listed}");
    let receiver = Receiver::start().await;
    two.make_webhook(&keys.account.key, &receiver, &["message.relayed"]).await;

    let ids = send(&[&one, &two, &three], &keys, 90).await;
    until_relayed(&three, &keys, &ids).await;
    let came = lab.recipients();
    assert_eq!(came.len(), 90, "{came:?}");
    assert_eq!(came.iter().collect::<BTreeSet<_>>().len(), 90, "{came:?}");
    for node in [&one, &two, &three] {
        assert!(node.log().contains("delivery attempted"), "each node has its share");
    }
    let told = receiver.until("90 events", |all| all.len() >= 90).await;
    let events: BTreeSet<&str> = told.iter().map(|it| it.header("webhook-id")).collect();
    assert_eq!((told.len(), events.len()), (90, 90), "each event is told once");

    assert!(three.terminate().success());
    until_shared(&one, &keys, &["one", "two"]).await;
    let shown = nodes(&two, &keys).await;
    assert!(is_in(&shown, "three", "gone"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_node_had_under_way_is_delivered_by_the_others() {
    let Some(lab) = Lab::new("killed_node").await else { return };
    let mut one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    until_shared(&two, &keys, &["one", "two"]).await;
    lab.stall();
    let ids = send(&[&one, &two], &keys, 30).await;
    until_nodes(&two, &keys, "both deliver", |all| {
        leases(all, "one") > 0 && leases(all, "two") > 0
    })
    .await;
    one.kill9();
    lab.go_on();
    until_shared(&two, &keys, &["two"]).await;
    until_relayed(&two, &keys, &ids).await;
    let came = lab.recipients();
    assert_eq!(came.len(), 30, "nothing had been sent by the one that was killed: {came:?}");

    one.restart();
    until_shared(&two, &keys, &["two", "one"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stood_still_settles_nothing_that_another_one_took() {
    let Some(lab) = Lab::new("stopped_node").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    until_shared(&two, &keys, &["one", "two"]).await;
    lab.stall();
    let ids = send(&[&two], &keys, 30).await;
    let shown = until_nodes(&two, &keys, "both deliver", |all| {
        leases(all, "one") > 0 && leases(all, "two") > 0
    })
    .await;
    let under_way = usize::try_from(leases(&shown, "one")).expect("a small number");
    one.signal("STOP");
    until_nodes(&two, &keys, "its time is over", |all| is_in(all, "one", "gone")).await;
    lab.go_on();
    until_relayed(&two, &keys, &ids).await;

    one.signal("CONT");
    let attempted = || {
        let log = one.log();
        (log.matches("delivery attempted").count() >= under_way).then_some(())
    };
    until("it ends what it had begun", PATIENCE, attempted);
    until_shared(&one, &keys, &["one", "two"]).await;
    assert_settled_once(&two, &keys, &ids).await;
    let again = send(&[&one, &two], &keys, 6).await;
    until_relayed(&one, &keys, &[ids, again].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_one_node_deactivates_is_refused_by_the_other() {
    let Some(lab) = Lab::new("two_doors").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    let (id, spare) = one.make_key(&keys.account.id, &[]);
    let mail = with(message("ada@d1.example"), "from", json!(format!("hello@{SENDER}")));
    for server in [&one, &two] {
        server.send(&spare, &mail).await.message_id();
    }
    let path = format!("/v1/keys/{id}/deactivate");
    let request = one.request(Method::POST, &path).header("x-api-key", &keys.account.key);
    let done = one.answer(request).await;
    assert_eq!(done.status, 200, "{}", done.body);
    two.send(&spare, &mail).await.assert_refused(401, "UNAUTHORIZED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_again_takes_its_own_shares_up_at_once() {
    let Some(lab) = Lab::new("one_node").await else { return };
    let mut one = lab.node("one");
    let keys = lab.keys(&one).await;
    lab.stall();
    let ids = send(&[&one], &keys, 3).await;
    until_nodes(&one, &keys, "it delivers", |all| leases(all, "one") > 0).await;
    one.kill9();
    lab.go_on();
    one.restart();
    let shown = nodes(&one, &keys).await;
    assert_eq!(shown.len(), 1, "the earlier start is forgotten: {shown:?}");
    assert!(is_in(&shown, "one", "live") && shown[0]["shares"] == 64, "{shown:?}");
    until_relayed(&one, &keys, &ids).await;
    assert_eq!(lab.recipients().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_master_key_was_rotated_elsewhere_waits_for_the_new_one() {
    let Some(lab) = Lab::new("rotated_beside").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let other = lab.node("other");
    until_shared(&one, &keys, &["one", "other"]).await;
    assert_eq!(one.cli(&["master-key", "rotate"])["otherNodes"], json!(["other"]));

    until_nodes(&one, &keys, "the other one waits", |it| is_in(it, "other", "keyless")).await;
    until_shared(&one, &keys, &["one"]).await;
    assert_eq!(other.get("/readyz").await.status, 503);
    let report = checked_with(&one, &keys.operator).await;
    assert_eq!(finding(&report, "nodes")["state"], "failing", "{report}");
    let ids = send(&[&one, &other], &keys, 20).await;
    until_relayed(&one, &keys, &ids).await;

    let key = fs::read(one.data_dir().join("master.key")).expect("readable");
    fs::write(other.data_dir().join("master.key"), key).expect("written");
    until_shared(&one, &keys, &["one", "other"]).await;
    assert_eq!(other.get("/readyz").await.status, 200);
}
