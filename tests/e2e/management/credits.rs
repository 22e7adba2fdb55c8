//! `/v1/credits`.

use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use super::{holder, operator, pages};
use crate::fixture::{Database, message};

async fn grant(server: &Server, key: &str, body: &Value, once: Option<&str>) -> Answer {
    let once: Vec<(&str, &str)> = once.map(|it| ("idempotency-key", it)).into_iter().collect();
    server.post("/v1/credits/grants", key, body, &once).await
}

#[tokio::test]
async fn a_grant_is_in_the_balance_and_in_the_ledger_at_once() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let body = json!({"accountId": account.id, "amount": 40, "reason": "bought", "colour": 1});
    let granted = grant(&server, &operator, &body, None).await;
    assert_eq!(granted.status, 201, "{}", granted.body);
    assert_eq!((&granted.body["granted"], &granted.body["balance"]), (&json!(40), &json!(140)));
    assert_eq!(granted.body["warnings"], json!(["unknown field `colour`"]));
    server.send(&account.key, &message("a@example.com")).await.message_id();
    let balance = server.get_as(&account.key, "/v1/credits").await.body;
    let wanted =
        json!({"accountId": account.id, "balance": 139, "sentToday": 1, "sentLast30Days": 1});
    assert_eq!(balance, wanted);
    let ledger = server.get_as(&account.key, "/v1/credits/ledger").await.body;
    let entries: Vec<Value> = ledger["data"].as_array().expect("entries").clone();
    let told: Vec<Value> = entries
        .iter()
        .map(|it| json!([it["kind"], it["amount"], it["messages"], it["reason"]]))
        .collect();
    let wanted = [
        json!(["debit", -1, 1, null]),
        json!(["grant", 40, null, "bought"]),
        json!(["grant", 100, null, "granted by the operator"]),
    ];
    assert_eq!(told, wanted);
    let shown = server.cli(&["credits", "show", "--account", &account.id]);
    assert_eq!(shown["ledger"], json!(entries), "the command line says the same");
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn one_idempotency_key_grants_once_also_across_a_restart_and_side_by_side() {
    let mut server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let body = json!({"accountId": account.id, "amount": 5});
    let grants = (0..8).map(|_| grant(&server, &operator, &body, Some("order-1")));
    let answers = futures_util::future::join_all(grants).await;
    let replayed = |it: &&Answer| it.header("idempotency-replayed") == Some("true");
    assert_eq!(answers.iter().filter(replayed).count(), 7);
    assert!(answers.iter().all(|it| it.status == 201 && it.body["balance"] == 105));
    server.kill9();
    server.restart();
    let again = grant(&server, &operator, &body, Some("order-1")).await;
    assert!(replayed(&&again) && again.body == answers[0].body, "{}", again.body);
    let other = json!({"accountId": account.id, "amount": 6});
    let other = grant(&server, &operator, &other, Some("order-1")).await;
    other.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    // Of another account, and of a send, it is another key.
    let second = holder(&server);
    let other = json!({"accountId": second.id, "amount": 5});
    let other = grant(&server, &operator, &other, Some("order-1")).await;
    assert_eq!((other.status, &other.body["balance"]), (201, &json!(105)));
    server.send_once(&account.key, &message("a@example.com"), "order-1").await.message_id();
    assert_eq!(server.balance(&account.id), 104);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn only_an_operator_grants_and_a_refused_grant_moves_nothing() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let body = json!({"accountId": account.id, "amount": 5});
    grant(&server, &account.key, &body, None).await.assert_refused(403, "FORBIDDEN");
    let bad = json!({"accountId": "acc_1", "amount": 0, "reason": "a\nb"});
    let bad = grant(&server, &operator, &bad, None).await;
    bad.assert_faults(&["accountId", "amount", "reason"]);
    grant(&server, &operator, &json!({}), None).await.assert_faults(&["accountId", "amount"]);
    let text = json!({"accountId": account.id, "amount": "5"});
    grant(&server, &operator, &text, None).await.assert_faults(&["amount"]);
    let nobody = json!({"accountId": "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "amount": 5});
    grant(&server, &operator, &nobody, Some("k")).await.assert_refused(404, "NOT_FOUND");
    assert_eq!(server.balance(&account.id), 100);
    let refused = server.cli_fails(&["credits", "grant", "--account", &account.id, "0"]);
    assert!(refused.contains("amount: must be from 1"), "{refused}");
}

#[tokio::test]
async fn a_ledger_is_read_page_by_page_and_by_its_own_account() {
    let server = Server::dev();
    let (account, other, operator) = (holder(&server), holder(&server), operator(&server));
    for amount in 1..=6 {
        let body = json!({"accountId": account.id, "amount": amount});
        grant(&server, &operator, &body, None).await;
        let body = json!({"accountId": other.id, "amount": 1_000});
        grant(&server, &operator, &body, None).await;
    }
    let amounts = |pages: &[Vec<Value>]| -> Vec<i64> {
        pages.concat().iter().filter_map(|it| it["amount"].as_i64()).collect()
    };
    let own = pages(&server, &account.key, "/v1/credits/ledger", 3).await;
    assert_eq!(amounts(&own), [6, 5, 4, 3, 2, 1, 100]);
    assert_eq!(own.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    let path = format!("/v1/credits/ledger?account={}", account.id);
    assert_eq!(amounts(&pages(&server, &operator, &path, 4).await), [6, 5, 4, 3, 2, 1, 100]);
    server.get_as(&other.key, &path).await.assert_refused(403, "FORBIDDEN");

    // Where a page goes on is sealed for its ledger.
    let first = server.get_as(&account.key, "/v1/credits/ledger?limit=1").await.body;
    let path = format!("/v1/credits/ledger?after={}", first["next"].as_str().expect("more"));
    server.get_as(&other.key, &path).await.assert_faults(&["after"]);
    let made_up = server.get_as(&account.key, "/v1/credits/ledger?after=7&limit=x").await;
    made_up.assert_faults(&["limit"]);
    server.get_as(&account.key, "/v1/credits/ledger?after=7").await.assert_faults(&["after"]);
}

#[tokio::test]
async fn a_key_for_some_of_the_account_reads_the_balance_and_not_the_ledger() {
    let server = Server::dev();
    let account = holder(&server);
    let (_, narrow) =
        server.make_key(&account.id, &["--scope", "admin", "--domain", "sandbox.test"]);
    let (_, test) = server.make_key(&account.id, &["--test", "--scope", "admin"]);
    let (_, sender) = server.make_key(&account.id, &[]);
    for key in [&narrow, &test] {
        assert_eq!(server.get_as(key, "/v1/credits").await.body["balance"], 100);
        server.get_as(key, "/v1/credits/ledger").await.assert_refused(403, "FORBIDDEN");
    }
    server.get_as(&sender, "/v1/credits").await.assert_refused(403, "FORBIDDEN");
}
