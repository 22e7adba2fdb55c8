//! The whole server on PostgreSQL: what it does for a sender, and what it refuses to start on.

mod shared;
mod two_nodes;

use std::process::Command;

use reqwest::Method;
use waxwing_tests::{Launch, Receiver, Server};
use waxwing_tools::Cluster;

use crate::dashboard::Browser;
use crate::fixture::message;

/// A server whose store is a new database of that name.
fn on_postgres(name: &str, unproven: &str) -> Option<Server> {
    let cluster = Cluster::shared(unproven)?;
    Some(Server::start(Launch::posting_here().with("store", "url", &cluster.create(name))))
}

/// The balance, which is the sum of the ledger.
fn balance(server: &Server, account: &str) -> i64 {
    let shown = server.cli(&["credits", "show", "--account", account]);
    let ledger = shown["ledger"].as_array().expect("a ledger");
    let sum: i64 = ledger.iter().map(|it| it["amount"].as_i64().expect("a number")).sum();
    assert_eq!(shown["balance"], sum, "the balance is the ledger's sum: {shown}");
    sum
}

#[tokio::test]
async fn a_message_is_sent_delivered_paid_told_and_shown_on_postgresql() {
    let Some(mut server) = on_postgres("journey", "a server on PostgreSQL") else { return };
    assert!(!server.data_dir().join("waxwing.db").exists(), "there is no second store");
    let receiver = Receiver::start().await;
    server.make_webhook(server.key(), &receiver, &["message.*"]).await;
    let account = server.open_account("pro", 10);
    let id = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let mail = server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "481 902 is your Tern & Co code");
    let told = receiver.event("message.delivered").await.event();
    assert_eq!(told["data"]["messageId"], id.as_str());
    let shown = server.message(&id);
    assert_eq!(shown["state"], "delivered", "{shown}");
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 1);

    for number in 0..3 {
        let to = format!("n{number}@example.com");
        server.send(&account.key, &message(&to)).await.message_id();
    }
    assert_eq!(balance(&server, &account.id), 10 - 3);
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/app/messages?q=ada%40example.com").await;
    assert!(page.html.contains(&id), "{}", page.html);

    let first = server.line().clone();
    server.kill9();
    server.restart();
    assert_eq!(server.line()["apiKey"], first["apiKey"], "it goes on with the same database");
    server.send(server.key(), &message("eve@example.com")).await.message_id();
    server.wait_for_mail_to("eve@example.com").await;
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 2);
    let metrics = server.request(Method::GET, "/metrics").send().await.expect("answered");
    let metrics = metrics.text().await.expect("a text");
    assert!(metrics.contains("waxwing_queue_length "), "{metrics}");
    assert!(!metrics.contains("waxwing_database_bytes"), "{metrics}");
}

#[test]
fn a_second_server_on_the_same_database_does_not_start() {
    let Some(server) = on_postgres("taken", "that PostgreSQL has one server") else { return };
    let other = server.scratch("other");
    let other = other.to_str().expect("a path of UTF-8");
    let url = Cluster::shared("the same").expect("it runs").url("taken");
    let output = Command::new(waxwing_tests::binary())
        .env("WAXWING_STORE__URL", url)
        .args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir", other])
        .output()
        .expect("the binary runs");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success(), "{error}");
    assert!(error.contains("another waxwing works with the database"), "{error}");
}

#[test]
fn what_cannot_be_a_store_is_said_before_anything_listens() {
    let home = tempfile::tempdir().expect("a directory");
    let nowhere = "postgres://waxwing:hidden@127.0.0.1:1/waxwing";
    for (url, says) in [
        ("mysql://localhost/waxwing", "store.url: as in postgres://"),
        (nowhere, "127.0.0.1:1, database waxwing) cannot be reached"),
    ] {
        let output = Command::new(waxwing_tests::binary())
            .env("WAXWING_STORE__URL", url)
            .args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"])
            .arg(home.path().join("data"))
            .output()
            .expect("the binary runs");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(!output.status.success() && error.contains(says), "{url}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}
