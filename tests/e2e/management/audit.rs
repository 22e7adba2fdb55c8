//! `GET /v1/audit`: an operator reads all of it, an account its own.

use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{holder, operator, pages, post, text};

fn actions(pages: &[Vec<Value>]) -> Vec<String> {
    pages.concat().iter().map(|it| text(&it["action"])).collect()
}

#[tokio::test]
async fn an_operator_reads_all_changes_and_an_account_its_own() {
    let server = Server::dev();
    let (own, other, operator) = (holder(&server), holder(&server), operator(&server));
    for account in [&own, &other] {
        let made = post(&server, &account.key, "/v1/keys", json!({"name": "Shop"})).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
    post(&server, &operator, "/v1/accounts", json!({"name": "Acme"})).await;
    let mine = server.get_as(&own.key, "/v1/audit?limit=1").await.body;
    let newest = &mine["data"][0];
    for (member, value) in [
        ("accountId", json!(own.id)),
        ("action", json!("create_key")),
        ("acting", json!(false)),
        ("ip", json!("127.0.0.1")),
    ] {
        assert_eq!(newest[member], value, "{member}: {newest}");
    }
    assert_eq!(newest["actor"]["kind"], "key");
    assert_eq!(newest["actor"]["id"], json!(own.key_id));
    let mine = pages(&server, &own.key, "/v1/audit", 2).await;
    assert!(mine.concat().iter().all(|it| it["accountId"] == json!(own.id)), "{mine:?}");
    let asked = pages(&server, &operator, &format!("/v1/audit?account={}", own.id), 500).await;
    assert_eq!(asked.concat(), mine.concat(), "an operator sees the same of an account");
    let all = pages(&server, &operator, "/v1/audit", 3).await;
    assert_eq!(actions(&all).first().map(String::as_str), Some("create_account"));
    let of = |id: &str| all.concat().iter().filter(|it| it["accountId"] == json!(id)).count();
    assert!(of(&own.id) > 0 && of(&other.id) > 0, "{all:?}");
    assert!(all.concat().iter().any(|it| it["actor"]["kind"] == "command-line"), "{all:?}");
}

#[tokio::test]
async fn no_key_reads_the_log_of_others() {
    let server = Server::dev();
    let (own, other, operator) = (holder(&server), holder(&server), operator(&server));
    let foreign = format!("/v1/audit?account={}", other.id);
    server.get_as(&own.key, &foreign).await.assert_refused(403, "FORBIDDEN");
    let (_, narrow) = server.make_key(&own.id, &["--scope", "admin", "--template", "receipt"]);
    let (_, test) = server.make_key(&own.id, &["--test", "--scope", "admin"]);
    let (_, sender) = server.make_key(&own.id, &[]);
    for key in [&narrow, &test, &sender] {
        server.get_as(key, "/v1/audit").await.assert_refused(403, "FORBIDDEN");
    }
    let nobody = "/v1/audit?account=acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    server.get_as(&operator, nobody).await.assert_refused(404, "NOT_FOUND");
    // Where a page goes on is of one log.
    let next = text(&server.get_as(&other.key, "/v1/audit?limit=1").await.body["next"]);
    for after in [next.as_str(), "x", "5"] {
        let path = format!("/v1/audit?after={after}");
        server.get_as(&own.key, &path).await.assert_faults(&["after"]);
    }
    server.get_as(&own.key, "/v1/audit?colour=1").await.assert_faults(&["colour"]);
}

#[tokio::test]
async fn a_search_of_the_log_finds_what_the_search_of_its_page_finds() {
    let server = Server::dev();
    let account = holder(&server);
    let mut made = Vec::new();
    for name in ["Shop", "Till", "Depot"] {
        let key = post(&server, &account.key, "/v1/keys", json!({"name": name})).await.body;
        made.push(text(&key["id"]));
    }
    let webhook = json!({"url": "https://hooks.example/waxwing"});
    assert_eq!(post(&server, &account.key, "/v1/webhooks", webhook).await.status, 201);
    let found = async |search: &str| {
        let path = format!("/v1/audit?text={search}");
        pages(&server, &account.key, &path, 2).await.concat()
    };
    for words in ["create%20key", "CREATE_KEY"] {
        let keys = found(words).await;
        let subjects: Vec<String> = keys.iter().map(|it| text(&it["subject"])).collect();
        let newest: Vec<&String> = subjects.iter().take(3).collect();
        assert_eq!(newest, made.iter().rev().collect::<Vec<_>>(), "{words}: {keys:?}");
    }
    assert_eq!(found(&made[1]).await.len(), 1, "by its subject");
    assert_eq!(found("webhook").await.len(), 1, "by a part of the action");
    assert!(found("127.0.0.1").await.len() >= 4, "by the address that it came from");
    assert!(found("nowhere").await.is_empty());
}
