//! What nodes share beside the mail: a server with an empty data directory goes on with the plugins, their settings and the
//! sandbox inbox of its database, and one with another master key does not start.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use waxwing_tests::{Launch, Server};
use waxwing_tools::Cluster;

use crate::fixture::message;

pub const PLAN: &str = "plan-policy";

pub fn digest(component: &[u8]) -> String {
    Sha256::digest(component)
        .iter()
        .fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn on(url: &str) -> Server {
    Server::start(Launch::dev().with("store", "url", url))
}

/// The reason of the plan policy for a good send.
async fn reason(server: &Server, to: &str) -> Value {
    let id = server.send(server.key(), &message(to)).await.message_id();
    let decision = server.look(&format!("/v1/decisions/{id}")).await;
    let plugins = decision["plugins"].as_array().expect("a decision lists plugins");
    let plan = plugins.iter().find(|it| it["kind"] == "plan").expect("the plan policy decides");
    plan["reason"].clone()
}

#[tokio::test]
async fn an_empty_data_directory_goes_on_with_plugins_settings_and_inbox() {
    let Some(cluster) = Cluster::shared("what nodes share on PostgreSQL") else { return };
    let url = cluster.create("shared_state");
    let mut first = on(&url);
    let component = waxwing_guests::component("price-setting");
    first.place("plan-policy.toml", "[settings]\nprice = 3\n");
    first.place("plan-policy.wasm", &component);
    first.live(PLAN, &digest(&component)).await;
    let settings = first.request(Method::PUT, "/v1/plugins/plan-policy/settings");
    let settings = settings.header("x-api-key", first.key()).json(&json!({"price": 5}));
    assert_eq!(first.answer(settings).await.status, 202);
    let changed = |view: &Value| (view["active"]["settings"]["price"] == 5).then_some(());
    first.until_slot(PLAN, "the settings hold", changed).await;
    assert_eq!(reason(&first, "ada@example.com").await, "price 5");
    first.wait_for_mail_to("ada@example.com").await;
    assert!(!first.data_dir().join("inbox.db").exists(), "there is no second inbox");
    first.terminate();

    let second = on(&url);
    assert!(!second.plugins_dir().join("plan-policy.wasm").exists(), "its folder is empty");
    let slot = second.live(PLAN, &digest(&component)).await;
    assert_eq!(slot["active"]["settings"]["price"], 5, "{slot:#}");
    let this = |view: &Value| {
        let nodes = view["nodes"].as_array().expect("nodes");
        let node = nodes.iter().find(|it| it["this"] == true)?;
        (node["state"] == "active").then(|| node.clone())
    };
    let node = second.until_slot(PLAN, "the node reports what it runs", this).await;
    assert_eq!(node["digest"], digest(&component).as_str());
    assert_eq!(reason(&second, "eve@example.com").await, "price 5");
    second.wait_for_mail_to("eve@example.com").await;
    let mails = second.inbox().await;
    let to = |address: &str| mails.iter().any(|it| it.to == address);
    assert!(to("ada@example.com"), "what the first server took: {mails:?}");

    assert_eq!(second.order(PLAN, "rollback").await.status, 200);
    let rolled_back = |view: &Value| (view["active"]["settings"]["price"] == 3).then_some(());
    second.until_slot(PLAN, "the settings before hold", rolled_back).await;
    assert_eq!(reason(&second, "iva@example.com").await, "price 3");
}

#[test]
fn a_node_without_the_master_key_of_the_database_does_not_start() {
    let Some(cluster) = Cluster::shared("the master key of nodes on PostgreSQL") else { return };
    let url = cluster.create("one_master_key");
    let mut first = on(&url);
    first.terminate();
    let other = first.scratch("other");
    let start = || {
        let output = Command::new(waxwing_tests::binary())
            .env("WAXWING_STORE__URL", &url)
            .args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"])
            .arg(&other)
            .output()
            .expect("the binary runs");
        assert!(!output.status.success(), "it does not start");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let missing = start();
    assert!(missing.contains("master.key is missing"), "{missing}");
    assert!(missing.contains("store.master_key_file"), "it says what to set: {missing}");
    assert!(!other.join("master.key").exists(), "no second key is made");
    std::fs::write(other.join("master.key"), [7; 32]).expect("written");
    let another = start();
    assert!(another.contains("is not the master key that this database"), "{another}");
}
