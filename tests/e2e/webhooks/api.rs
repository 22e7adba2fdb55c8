//! Making, changing and removing webhooks: over the API and with the command line.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{lab, until_deliveries};
use crate::fixture::message;

const UNKNOWN: &str = "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// All that can be asked of one webhook.
fn below_one() -> [(Method, &'static str, Value); 8] {
    [
        (Method::GET, "", Value::Null),
        (Method::PATCH, "", json!({"state": "disabled"})),
        (Method::DELETE, "", Value::Null),
        (Method::POST, "/rotate", Value::Null),
        (Method::POST, "/test", Value::Null),
        (Method::GET, "/deliveries", Value::Null),
        (Method::POST, "/replay", json!({"since": "2020-01-01T00:00:00Z"})),
        (Method::POST, "/deliveries/evt_01ARZ3NDEKTSV4RRFFQ69G5FAV/replay", Value::Null),
    ]
}

fn ids(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter().filter_map(|it| it["id"].as_str()).collect()
}

#[tokio::test]
async fn a_webhook_is_made_shown_changed_and_removed() {
    let (receiver, server) = lab().await;
    let key = server.key();
    let body = json!({"url": receiver.url(), "description": "Orders", "types": ["message.*"], "colour": 1});
    let made = server.webhooks(Method::POST, key, "", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.body["warnings"], json!(["unknown field `colour`"]));
    let secret = made.body["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "32 bytes");
    let id = made.body["id"].as_str().expect("an identifier");
    let shown = server.webhook(key, id).await;
    assert!(id.starts_with("whk_") && shown.get("secret").is_none(), "{shown}");
    for (field, value) in [
        ("accountId", json!(server.dev_output("accountId"))),
        ("url", json!(receiver.url())),
        ("description", json!("Orders")),
        ("types", json!(["message.*"])),
        ("state", json!("active")),
        ("reason", json!("created")),
        ("earlierSecretUntil", Value::Null),
        ("succeededAt", Value::Null),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    let list = server.webhooks(Method::GET, key, "", &Value::Null).await;
    let mut listed = shown.clone();
    let figures = listed.as_object_mut().expect("an object").remove("figures");
    assert_eq!(figures, Some(json!({"delivered": 0, "failed": 0, "waiting": 0})));
    assert_eq!(list.body["data"], json!([listed]));

    let below = format!("/{id}");
    let changed = server
        .webhooks(Method::PATCH, key, &below, &json!({"types": ["domain.*"], "state": "disabled"}))
        .await;
    assert_eq!((changed.status, &changed.body["state"]), (200, &json!("disabled")));
    assert_eq!(
        (&changed.body["types"], &changed.body["description"]),
        (&json!(["domain.*"]), &json!("Orders"))
    );
    let active = server.webhooks(Method::PATCH, key, &below, &json!({"state": "active"})).await;
    assert_eq!(active.body["reason"], "activated by its owner");
    let unchanged = server.webhooks(Method::PATCH, key, &below, &json!({})).await;
    assert_eq!(unchanged.body, active.body);
    let rotated =
        server.webhooks(Method::POST, key, &format!("{below}/rotate"), &Value::Null).await;
    assert!(rotated.body["earlierSecretUntil"].is_string(), "{}", rotated.body);
    assert_ne!(rotated.body["secret"], made.body["secret"]);
    let again = server.webhooks(Method::POST, key, &format!("{below}/rotate"), &Value::Null).await;
    let until = rotated.body["earlierSecretUntil"].as_str().expect("a time");
    assert!(again.body.to_string().contains(until), "{}", again.body);
    again.assert_refused(409, "CONFLICT");

    let gone = server.webhooks(Method::DELETE, key, &below, &Value::Null).await;
    assert_eq!(gone.body, json!({"id": id, "deleted": true}));
    server.webhooks(Method::GET, key, &below, &Value::Null).await.assert_refused(404, "NOT_FOUND");
    let log = server.log();
    assert!(!log.contains(secret), "a secret is in no log");
}

#[tokio::test]
async fn what_is_wrong_with_a_webhook_is_said() {
    let server = Server::dev();
    let key = server.key();
    let good = "https://example.com/hooks";
    for (body, fields) in [
        (json!({}), &["url"][..]),
        (
            json!({"url": 7, "types": "message.*", "description": []}),
            &["url", "types", "description"],
        ),
        (json!({"url": good, "types": ["message.nothing"]}), &["types"]),
        (json!({"url": good, "types": ["message.delivered", 7]}), &["types[1]"]),
        (json!({"url": good, "types": vec!["message.*"; 51]}), &["types"]),
        (json!({"url": good, "description": "a".repeat(501)}), &["description"]),
        (json!({"url": format!("https://example.com/{}", "a".repeat(2_100))}), &["url"]),
        (json!([]), &[""]),
    ] {
        server.webhooks(Method::POST, key, "", &body).await.assert_faults(fields);
    }
    let made = server.webhooks(Method::POST, key, "", &json!({"url": good})).await;
    let id = made.body["id"].as_str().expect("an identifier");
    let below = format!("/{id}");
    for (body, fields) in [
        (json!({"state": "sleeping"}), &["state"][..]),
        (json!({"state": true, "url": null, "types": {}}), &["state", "types"]),
        (json!("active"), &[""]),
    ] {
        server.webhooks(Method::PATCH, key, &below, &body).await.assert_faults(fields);
    }
    for body in [json!({}), json!({"since": "yesterday"}), json!({"since": 7})] {
        let replay = server.webhooks(Method::POST, key, &format!("{below}/replay"), &body).await;
        replay.assert_faults(&["since"]);
    }
    for (body, fields) in [
        (json!({"since": "2026-01-01T00:00:00Z", "until": "2025-01-01T00:00:00Z"}), &["until"][..]),
        (json!({"since": "2026-01-01T00:00:00Z", "utnil": "2026-02-01T00:00:00Z"}), &["utnil"]),
        (json!({"until": "tomorrow", "x": 1, "y": null}), &["since", "until", "x", "y"]),
        (
            json!({"since": "2026-01-01T00:00:00Z", "until": "2025-01-01T00:00:00Z", "x": 1}),
            &["until", "x"],
        ),
    ] {
        let replay = server.webhooks(Method::POST, key, &format!("{below}/replay"), &body).await;
        replay.assert_faults(fields);
    }
    for list in ["?limit=0".to_owned(), format!("{below}/deliveries?limit=0")] {
        server.webhooks(Method::GET, key, &list, &Value::Null).await.assert_faults(&["limit"]);
    }
    for query in ["?limit=many", "?after=whk_1", "?colour=1", "?owner=nobody"] {
        let list = server.webhooks(Method::GET, key, query, &Value::Null).await;
        list.assert_refused(400, "BAD_REQUEST");
    }
    let query = format!("{below}/deliveries?state=lost");
    server.webhooks(Method::GET, key, &query, &Value::Null).await.assert_faults(&["state"]);
    let path = format!("{below}/deliveries/evt_01ARZ3NDEKTSV4RRFFQ69G5FAV/replay");
    server.webhooks(Method::POST, key, &path, &Value::Null).await.assert_refused(404, "NOT_FOUND");
    let path = format!("{below}/deliveries/nothing/replay");
    server.webhooks(Method::POST, key, &path, &Value::Null).await.assert_refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn another_accounts_webhook_is_not_there() {
    let (receiver, server) = lab().await;
    let webhook = server.make_webhook(server.key(), &receiver, &[]).await;
    let other = server.open_account("pro", 10);
    let (_, admin) = server.make_key(&other.id, &["--scope", "admin"]);
    for (method, verb, body) in &below_one() {
        for id in [webhook.id.as_str(), UNKNOWN, "nothing"] {
            let below = format!("/{id}{verb}");
            let answer = server.webhooks(method.clone(), &admin, &below, body).await;
            answer.assert_refused(404, "NOT_FOUND");
        }
        let below = format!("/{}{verb}", webhook.id);
        server
            .webhooks(method.clone(), &other.key, &below, body)
            .await
            .assert_refused(403, "FORBIDDEN");
        server.webhooks(method.clone(), "", &below, body).await.assert_refused(401, "UNAUTHORIZED");
        let of_server = format!("{below}?owner=server");
        server
            .webhooks(method.clone(), &admin, &of_server, body)
            .await
            .assert_refused(403, "FORBIDDEN");
        let answer = server.webhooks(method.clone(), server.key(), &of_server, body).await;
        answer.assert_refused(404, "NOT_FOUND");
    }
    assert!(receiver.posted().is_empty());
    assert_eq!(server.webhook(server.key(), &webhook.id).await["state"], "active");
}

#[tokio::test]
async fn a_key_for_some_of_the_account_neither_sees_nor_changes_webhooks() {
    let (receiver, server) = lab().await;
    let webhook = server.make_webhook(server.key(), &receiver, &[]).await;
    let account = server.dev_output("accountId");
    let domain = ["--scope", "admin", "--domain", "sandbox.test"];
    let template = ["--scope", "admin", "--template", "verification-code"];
    for restriction in [domain, template] {
        let (_, key) = server.make_key(account, &restriction);
        let make = json!({"url": receiver.url()});
        server.webhooks(Method::POST, &key, "", &make).await.assert_refused(403, "FORBIDDEN");
        let list = server.webhooks(Method::GET, &key, "", &Value::Null).await;
        list.assert_refused(403, "FORBIDDEN");
        for (method, verb, body) in below_one() {
            let below = format!("/{}{verb}", webhook.id);
            let answer = server.webhooks(method, &key, &below, &body).await;
            answer.assert_refused(403, "FORBIDDEN");
        }
    }
    assert!(receiver.posted().is_empty());
    let shown = server.webhook(server.key(), &webhook.id).await;
    assert_eq!((&shown["state"], &shown["earlierSecretUntil"]), (&json!("active"), &Value::Null));
}

#[tokio::test]
async fn an_account_has_at_most_twenty_and_they_are_listed_page_by_page() {
    let server = Server::dev();
    let key = server.key();
    let body = json!({"url": "https://example.com/hooks"});
    for _ in 0..20 {
        assert_eq!(server.webhooks(Method::POST, key, "", &body).await.status, 201);
    }
    let one_more = server.webhooks(Method::POST, key, "", &body).await;
    one_more.assert_refused(403, "FORBIDDEN");
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page =
            server.webhooks(Method::GET, key, &format!("?limit=7{after}"), &Value::Null).await;
        seen.extend(ids(&page.body).into_iter().map(str::to_owned));
        assert_eq!(page.body["hasMore"], page.body.get("next").is_some(), "{}", page.body);
        let Some(next) = page.body["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let mut distinct = seen.clone();
    distinct.dedup();
    assert_eq!((seen.len(), distinct.len()), (20, 20));
}

#[tokio::test]
async fn deliveries_are_listed_page_by_page_newest_first() {
    let (receiver, server) = lab().await;
    let key = server.key();
    let webhook = server.make_webhook(key, &receiver, &["message.queued"]).await;
    let batch: Vec<Value> = (0..12).map(|n| message(&format!("n{n}@example.com"))).collect();
    assert_eq!(server.send_batch(key, &batch.into()).await.body["success"], true);
    let all = until_deliveries(&server, &webhook.id, "?state=delivered", 12).await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let below = format!("/{}/deliveries?limit=5{after}", webhook.id);
        let page = server.webhooks(Method::GET, key, &below, &Value::Null).await;
        seen.extend(ids(&page.body).into_iter().map(str::to_owned));
        assert_eq!(page.body["hasMore"], page.body.get("next").is_some(), "{}", page.body);
        let Some(next) = page.body["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let expected: Vec<&str> = all.iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(seen, expected);
    assert!(seen.is_sorted_by(|one, two| one > two));
    assert!(server.deliveries(key, &webhook.id, "?state=failed").await.is_empty());
    assert!(server.deliveries(key, &webhook.id, "?state=pending").await.is_empty());
}

#[tokio::test]
async fn a_test_says_what_came_of_it() {
    let (receiver, server) = lab().await;
    let key = server.key();
    let webhook = server.make_webhook(key, &receiver, &["message.bounced"]).await;
    let below = format!("/{}/test", webhook.id);
    let tested = server.webhooks(Method::POST, key, &below, &Value::Null).await;
    assert_eq!((tested.status, &tested.body["delivered"]), (200, &json!(true)), "{}", tested.body);
    assert_eq!(tested.body["attempt"]["status"], 200);
    let posted = receiver.event("webhook.test").await;
    assert_eq!(posted.header("webhook-id"), tested.body["id"]);
    assert_eq!(posted.event()["data"]["webhookId"], webhook.id);
    drop(receiver);
    let tested = server.webhooks(Method::POST, key, &below, &Value::Null).await;
    assert_eq!((tested.status, &tested.body["delivered"]), (200, &json!(false)), "{}", tested.body);
    let log = server.deliveries(key, &webhook.id, "").await;
    let states: Vec<&Value> = log.iter().map(|it| &it["state"]).collect();
    assert_eq!(states, [&json!("failed"), &json!("delivered")]);
    assert!(log.iter().all(|it| it["type"] == "webhook.test" && it["nextAttemptAt"].is_null()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_does_the_same() {
    let (receiver, server) = lab().await;
    let account = server.dev_output("accountId");
    let made = server.cli(&[
        "webhook",
        "create",
        "--account",
        account,
        "--type",
        "message.queued",
        "--description",
        "By hand",
        &receiver.url(),
    ]);
    let id = made["id"].as_str().expect("an identifier");
    assert!(made["secret"].as_str().is_some_and(|it| it.starts_with("whsec_")));
    let list = server.cli(&["webhook", "list", "--account", account]);
    assert_eq!((&list[0]["id"], &list[0]["description"]), (&json!(id), &json!("By hand")));
    assert!(list[0].get("secret").is_none());
    server.send(server.key(), &message("a@example.com")).await.message_id();
    let event = receiver.event("message.queued").await;
    let event = event.header("webhook-id");
    until_deliveries(&server, id, "?state=delivered", 1).await;
    let log = server.cli(&["webhook", "deliveries", id, "--state", "delivered"]);
    assert_eq!(log[0]["id"], event);
    assert_eq!(server.cli(&["webhook", "replay", id, event])["replayed"], 1);
    receiver.until("it comes again", |all| all.len() == 2).await;
    let replayed = server.cli(&["webhook", "replay", id, "--since", "2020-01-01T00:00:00Z"]);
    assert_eq!(replayed["replayed"], 0, "nothing has failed");
    let backwards = [
        "webhook",
        "replay",
        id,
        "--since",
        "2026-01-01T00:00:00Z",
        "--until",
        "2025-01-01T00:00:00Z",
    ];
    assert!(server.cli_fails(&backwards).contains("before `since`"));
    assert_eq!(server.cli(&["webhook", "test", id])["delivered"], true);
    let rotated = server.cli(&["webhook", "rotate", id]);
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(server.cli_fails(&["webhook", "rotate", id]).contains("earlier secret signs until"));
    let text = server.cli_text(&["webhook", "deliveries", id]);
    assert!(text.contains("webhook.test") && text.contains("taken"), "{text}");
    let changed = server.cli(&["webhook", "update", id, "--state", "disabled"]);
    assert_eq!(changed["state"], "disabled");
    let shown = server.cli(&["webhook", "show", id]);
    assert_eq!(shown["reason"], "disabled by its owner");
    assert!(shown["figures"]["delivered"].as_u64().is_some_and(|it| it > 0), "{shown}");
    assert!(server.cli_fails(&["webhook", "replay", id, event]).contains("disabled"));
    let inside = ["webhook", "create", "--account", account, "http://10.0.0.1/"];
    assert!(server.cli_fails(&inside).contains("10.0.0.1"), "the server's own rules");
    assert_eq!(server.cli(&["webhook", "delete", id])["deleted"], true);
    assert!(server.cli_fails(&["webhook", "show", id]).contains(id));
    let of_server = server.cli(&["webhook", "create", "--server", &receiver.url()]);
    assert_eq!(of_server["accountId"], Value::Null);
    assert_eq!(server.cli(&["webhook", "list", "--server"]).as_array().map(Vec::len), Some(1));
}
