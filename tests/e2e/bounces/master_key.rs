//! Rotation of the master key beside a running server: nothing that is sealed or signed is lost.

use serde_json::{Value, json};

use super::{Lab, dsn};
use crate::fixture::Database;

fn keys(lab: &Lab) -> Vec<Value> {
    lab.server.cli(&["master-key", "list"]).as_array().expect("a list").clone()
}

/// A report that the address does not exist, to the return path of a message.
async fn bounce(lab: &Lab, (id, path): &(String, String), recipient: &str) {
    let report = dsn(recipient, "failed", "5.1.1", "550 5.1.1 No such user");
    lab.report(path, &report).await;
    assert_eq!(lab.server.message(id)["state"], "bounced");
}

#[tokio::test]
async fn a_rotation_beside_a_running_server_loses_nothing() {
    let mut lab = Lab::new().await;
    let account = lab.account.id.clone();
    let create = ["webhook", "create", "--account", &account, "https://hooks.example/"];
    let webhook = lab.server.cli(&create)["id"].as_str().expect("an identifier").to_owned();
    let first = lab.sent("ada@recipient.example").await;
    let before = keys(&lab);
    assert_eq!(before.len(), 1);
    assert!(before[0]["since"].is_null() && before[0]["values"].as_u64() >= Some(4), "{before:?}");

    let rotated = lab.server.cli(&["master-key", "rotate"]);
    assert_eq!(rotated["unreadable"], 0, "{rotated}");
    let now = keys(&lab);
    assert_eq!(now.len(), 2);
    assert_eq!((&now[0]["id"], &now[1]["id"]), (&rotated["id"], &before[0]["id"]));
    assert_eq!(now[1]["values"], 0, "{now:?}");
    // Keys of a domain sign, a webhook's secret signs, and a return path of before is read.
    let second = lab.sent("grace@recipient.example").await;
    let sent = String::from_utf8(lab.smarthost.messages()[1].data.clone()).expect("ASCII");
    assert_eq!(sent.matches("DKIM-Signature: ").count(), 2, "{sent}");
    let tested = lab.server.cli(&["webhook", "test", &webhook]);
    assert!(tested["attempt"].is_object(), "it was signed, and then not taken: {tested}");
    bounce(&lab, &first, "ada@recipient.example").await;

    let early = lab.server.cli(&["master-key", "drop"]);
    assert_eq!(early["dropped"], json!([]), "return paths come back for 30 days");
    let refused = lab.server.cli_fails(&["master-key", "drop", "--now"]);
    assert!(refused.contains("another waxwing runs"), "{refused}");
    lab.server.restart();
    let third = lab.sent("joan@recipient.example").await;
    bounce(&lab, &second, "grace@recipient.example").await;
    bounce(&lab, &third, "joan@recipient.example").await;
    let audit = "SELECT action FROM audit WHERE action LIKE '%master%' ORDER BY id";
    let audit = Database::of(&lab.server).await.texts(audit).await;
    assert_eq!(audit, ["rotate_master_key", "drop_master_keys"]);
}
