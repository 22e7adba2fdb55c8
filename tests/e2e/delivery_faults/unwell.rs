//! What the checks of the server's health say of a full disk and of a queue that is stuck.

use std::time::Duration;

use serde_json::json;
use waxwing_mx::{Behaviour, MxServer, Reply, Stage};
use waxwing_tests::{Launch, name_server, only_on_a_file, until_async};
use waxwing_tools::Need;

use super::disk::small_disk_in_place_of;
use super::{lab, mail, smarthosts, started};
use crate::fixture::change;
use crate::health::{checked, finding};

const BOUND: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_its_check_until_there_is_room_again() {
    if only_on_a_file("the disk that is full is that of the file") {
        return;
    }
    if !Need::SmallDisk.is_met("what the health checks say of a full disk") {
        return;
    }
    let post = MxServer::start(Behaviour::new());
    let (_dns, mut server, _account) = lab(&post).await;
    server.terminate();
    let disk = small_disk_in_place_of(&server.data_dir());
    server.restart();
    disk.fill();
    let full = checked(&server).await;
    let found = finding(&full, "disk");
    let failing = json!("failing");
    assert_eq!((&found["state"], &full["status"]), (&failing, &failing), "{full}");
    let todo = found["todo"].as_str().expect("what to do");
    assert!(todo.contains("[retention]"), "{todo}");
    disk.free();
    let ask = || async {
        let report = checked(&server).await;
        let is_well = finding(&report, "store")["state"] == "ok";
        (is_well && finding(&report, "disk")["state"] != "failing").then_some(())
    };
    until_async("there is room again", BOUND, ask).await;
    drop(server);
    drop(disk);
}

#[tokio::test]
async fn mail_that_is_due_for_an_hour_and_not_attempted_fails_the_queue() {
    // It takes one connection and says nothing: what comes behind it has to wait.
    let silent = Behaviour::new().answer(Stage::Mail, Reply::silence());
    let (post, dns) = (MxServer::start(silent), name_server().await);
    let launch = Launch::asking(&dns)
        .with("delivery", "route", "smarthost")
        .with("delivery", "smarthosts", &smarthosts(&post))
        .with("delivery", "connections", "1");
    let (server, account) = started(launch, &dns).await;
    let first = server.send(&account.key, &mail("first@recipient.example")).await.message_id();
    let is_sending = || async {
        let shown = server.get_as(&account.key, &format!("/v1/messages/{first}")).await;
        (shown.body["state"] == "sending").then_some(())
    };
    until_async("the first is being sent", BOUND, is_sending).await;
    server.send(&account.key, &mail("second@recipient.example")).await.message_id();
    assert_eq!(finding(&checked(&server).await, "queue")["state"], "ok");
    // The server leases what is due, and gives back what gets no connection: a row that is leased just now stays as it
    // is.
    let earlier = "UPDATE queue SET due_at = due_at - 3600000 WHERE lease_owner IS NULL;
                   UPDATE lanes SET due_at = due_at - 3600000";
    let is_late = || async {
        change(&server, earlier).await;
        let found = finding(&checked(&server).await, "queue").clone();
        (found["state"] == "failing").then_some(found)
    };
    let found = until_async("the check finds late mail", BOUND, is_late).await;
    assert!(found["what"].as_str().is_some_and(|it| it.contains("has been due for")), "{found}");
    assert!(found["todo"].as_str().is_some_and(|it| it.contains("waxwing queue list")), "{found}");
}
