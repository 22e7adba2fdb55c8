//! What is told, and to whom: each kind of event with its facts.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Launch, Receiver, Server, name_server};

use super::{lab, of_type};
use crate::fixture::{Template, message, publish, with};

/// A policy that denies nobody anything; with settings of the test's own it is another generation.
const PLAN: &str = "plan-policy";

#[tokio::test]
async fn a_message_is_told_from_its_acceptance_to_its_delivery() {
    let (receiver, server) = lab().await;
    let webhook = server.make_webhook(server.key(), &receiver, &["message.*"]).await;
    let sent = with(message("ada@example.com"), "tags", json!(["one", "two"]));
    let sent = with(sent, "metadata", json!({"order": "4711"}));
    let id = server.send(server.key(), &sent).await.message_id();
    let delivered = receiver.event("message.delivered").await.event();
    let data = &delivered["data"];
    assert_eq!(
        (&data["messageId"], &data["accountId"]),
        (&json!(id), &json!(server.dev_output("accountId")))
    );
    assert_eq!(
        (&data["to"], &data["from"]),
        (&json!("ada@example.com"), &json!("hello@sandbox.test"))
    );
    assert_eq!(
        (&data["state"], &data["template"]),
        (&json!("delivered"), &json!("verification-code"))
    );
    assert_eq!(
        (&data["tags"], &data["metadata"]),
        (&json!(["one", "two"]), &json!({"order": "4711"}))
    );
    assert_eq!((&data["credits"], &data["attempt"]), (&json!(1), &json!(1)));
    assert!(data["reason"].as_str().is_some_and(|it| it.starts_with("250")), "{data}");
    assert!(data["subject"].as_str().is_some_and(|it| !it.is_empty()), "{data}");
    let shown = server.message(&id);
    let events = shown["events"].as_array().expect("events");
    let posted = receiver.until("all of them", |all| all.len() == events.len()).await;
    for event in events {
        let kind = event["type"].as_str().expect("a type");
        let told = of_type(&posted, kind);
        assert_eq!(told.len(), 1, "{kind}");
        assert_eq!(told[0].header("webhook-id"), event["id"], "the event is the delivery");
        assert_eq!(told[0].event()["timestamp"], event["at"], "{kind}");
        assert_eq!(told[0].event()["data"]["reason"], event["detail"], "{kind}");
    }
    let queued = of_type(&posted, "message.queued")[0].event();
    assert_eq!(queued["data"]["attempt"], 0);
    let log = server.deliveries(server.key(), &webhook.id, "").await;
    assert_eq!(log.len(), events.len());
    assert!(log.iter().any(|it| it["body"] == delivered), "the log has what was posted");
}

#[tokio::test]
async fn an_account_hears_of_nobody_else_and_of_nothing_that_it_does_not_want() {
    let (receiver, server) = lab().await;
    let other = server.open_account("pro", 100);
    let (_, admin) = server.make_key(&other.id, &["--scope", "admin"]);
    drop(server.make_webhook(&admin, &receiver, &["message.delivered", "message.bounced"]).await);
    server.send(server.key(), &message("dev@example.com")).await.message_id();
    server.wait_for_mail_to("dev@example.com").await;
    server.send(&other.key, &message("other@example.com")).await.message_id();
    let posted = receiver.until("an event", |all| !all.is_empty()).await;
    assert_eq!(posted.len(), 1);
    let event = posted[0].event();
    assert_eq!(
        (&event["type"], &event["data"]["to"]),
        (&json!("message.delivered"), &json!("other@example.com"))
    );
}

#[tokio::test]
async fn credits_that_come_to_an_end_are_told_once() {
    let receiver = Receiver::start().await;
    let server = Server::start(Launch::posting_here().with("credits", "low", "3"));
    let account = server.open_account("pro", 4);
    let (_, admin) = server.make_key(&account.id, &["--scope", "admin"]);
    drop(server.make_webhook(&admin, &receiver, &["credits.*"]).await);
    for n in 0..4 {
        server.send(&account.key, &message(&format!("n{n}@example.com"))).await.message_id();
    }
    let exhausted = receiver.event("credits.exhausted").await.event();
    let facts = |balance: i64| json!({"accountId": account.id, "balance": balance, "threshold": 3});
    assert_eq!(exhausted["data"], facts(0));
    let posted = receiver.until("both", |all| all.len() == 2).await;
    assert_eq!(of_type(&posted, "credits.low")[0].event()["data"], facts(2));
}

#[tokio::test]
async fn a_published_template_and_a_verified_domain_are_told() {
    let receiver = Receiver::start().await;
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("webhooks", "allow_http", "true").with(
        "webhooks",
        "allow_private",
        r#"["127.0.0.1"]"#,
    );
    let server = Server::start(launch);
    let (key, account) = (server.key(), server.dev_output("accountId"));
    drop(server.make_webhook(key, &receiver, &["template.published", "domain.*"]).await);
    let template = Template { subject: "Hello", text: Some("Hello."), ..Template::default() };
    drop(publish(&server, account, "greeting", &template, &[]));
    let published = receiver.event("template.published").await.event();
    assert_eq!(
        (&published["data"]["slug"], &published["data"]["revision"]),
        (&json!("greeting"), &json!(1))
    );
    assert_eq!(published["data"]["accountId"], account);
    let domain = server.verified_domain(&dns, key, "hooks.example").await;
    let verified = receiver.event("domain.verified").await.event();
    assert_eq!(verified["data"]["domainId"], domain.text("id"));
    assert_eq!(
        (&verified["data"]["name"], &verified["data"]["accountId"]),
        (&json!("hooks.example"), &json!(account))
    );
}

#[tokio::test]
async fn the_operator_hears_of_plugins_and_accounts_do_not() {
    let (receiver, server) = lab().await;
    let accounts = Receiver::start().await;
    drop(server.make_webhook(server.key(), &accounts, &[]).await);
    let body = json!({"url": receiver.url(), "types": ["plugin.*"]});
    let made = server.webhooks(Method::POST, server.key(), "?owner=server", &body).await;
    assert_eq!((made.status, &made.body["accountId"]), (201, &Value::Null), "{}", made.body);
    let list = server.webhooks(Method::GET, server.key(), "?owner=server", &Value::Null).await;
    assert_eq!(list.body["data"].as_array().map(Vec::len), Some(1));

    let dear =
        "[settings]\nplans = [{ name = \"free\" }, { name = \"pro\", creditsPerRecipient = 7 }]\n";
    server.place("plan-policy.toml", dear);
    let activated = receiver.event("plugin.activated").await.event();
    assert_eq!(
        (&activated["data"]["slot"], &activated["data"]["settingsRevision"]),
        (&json!(PLAN), &json!(1))
    );
    assert_eq!(server.order(PLAN, "rollback").await.status, 200);
    let back = receiver.event("plugin.rolled_back").await.event();
    assert_eq!(back["data"]["reason"], "the operator rolled it back");

    server.displace("plan-policy.toml");
    let poison = waxwing_guests::component("panic-on-poison");
    let installed = server.install(PLAN, "", &poison).await;
    assert!(installed.status < 300, "{}", installed.body);
    receiver.until("it is live", |all| of_type(all, "plugin.activated").len() == 2).await;
    let refused = server.send(server.key(), &message("a@poison.example")).await;
    refused.assert_refused(503, "UNAVAILABLE");
    let trapped = receiver.event("plugin.trapped").await.event();
    assert_eq!(trapped["data"]["slot"], PLAN);
    let told = accounts.posted();
    assert!(told.iter().all(|it| !it.event()["type"].to_string().contains("plugin")), "{told:#?}");
}
