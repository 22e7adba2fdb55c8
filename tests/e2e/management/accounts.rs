//! `/v1/accounts`, `/v1/account` and `/v1/plans`.

use std::fs;

use serde_json::{Value, json};
use waxwing_tests::{Server, now_ms, until_async};

use super::{holder, operator, pages, patch, post, text};
use crate::dashboard::Browser;
use crate::fixture::{change, message};

#[tokio::test]
async fn an_account_is_opened_over_http_and_sends_when_it_has_what_it_needs() {
    let server = Server::dev();
    let operator = operator(&server);
    let body = json!({"name": "Acme", "plan": "pro", "sender": "hello@acme.test", "strict": true, "colour": 1});
    let opened = post(&server, &operator, "/v1/accounts", body).await;
    assert_eq!(opened.status, 201, "{}", opened.body);
    assert_eq!(opened.body["warnings"], json!(["unknown field `colour`"]));
    let id = text(&opened.body["id"]);
    let shown = server.get_as(&operator, &format!("/v1/accounts/{id}")).await.body;
    for (member, value) in [
        ("name", json!("Acme")),
        ("plan", json!("pro")),
        ("paid", json!(true)),
        ("state", json!("active")),
        ("sender", json!("hello@acme.test")),
        ("strict", json!(true)),
        ("balance", json!(0)),
        ("sentToday", json!(0)),
    ] {
        assert_eq!(shown[member], value, "{member}");
    }
    assert_eq!(server.cli(&["account", "show", &id]), shown, "the command line says the same");
    let grant = json!({"accountId": id, "amount": 1});
    assert_eq!(post(&server, &operator, "/v1/credits/grants", grant).await.status, 201);
    let keys = format!("/v1/keys?account={id}");
    let made = post(&server, &operator, &keys, json!({"scopes": ["send", "admin"]})).await.body;
    let key = text(&made["key"]);
    let domain = json!({"name": "acme.test", "sandbox": true});
    assert_eq!(post(&server, &key, "/v1/domains", domain).await.status, 201);
    drop(server.cli(&[
        "template",
        "create",
        "--account",
        &id,
        "--slug",
        "verification-code",
        "--starter",
    ]));
    drop(server.cli(&[
        "account",
        "brand",
        &id,
        "--product-name",
        "Acme",
        "--support-email",
        "help@acme.test",
    ]));
    let mut body = message("ada@example.com");
    body["data"] = json!({"code": "1", "expires_in": "5 minutes", "product_url": "https://acme.test",
                          "company_address": "Here", "brand_color": "#000", "name": "Ada"});
    let sent = server.send(&key, &body).await;
    assert!(sent.status == 201 || sent.code() == "BAD_REQUEST", "{}", sent.body);
}

#[tokio::test]
async fn a_suspended_account_is_refused_and_goes_on_when_it_is_active() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let path = format!("/v1/accounts/{}", account.id);
    let change = json!({"state": "suspended", "plan": "business", "sender": null, "name": "Other"});
    let changed = patch(&server, &operator, &path, change).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let members = [&changed.body["state"], &changed.body["plan"], &changed.body["sender"]];
    assert_eq!(members, [&json!("suspended"), &json!("business"), &Value::Null]);
    server.send(&account.key, &message("a@example.com")).await.assert_refused(403, "FORBIDDEN");
    server.get_as(&account.key, "/v1/account").await.assert_refused(403, "FORBIDDEN");
    let changed = patch(&server, &operator, &path, json!({"state": "active"})).await;
    assert_eq!((changed.status, &changed.body["name"]), (200, &json!("Other")));
    let sender = patch(&server, &operator, &path, json!({"sender": "hello@sandbox.test"})).await;
    assert_eq!(sender.status, 200, "{}", sender.body);
    server.send(&account.key, &message("a@example.com")).await.message_id();
}

#[tokio::test]
async fn no_operator_suspends_the_account_of_its_own_key() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let (_, key) = server.make_key(&account.id, &["--scope", "operator"]);
    let path = format!("/v1/accounts/{}", account.id);
    let change = json!({"state": "suspended"});
    patch(&server, &key, &path, change).await.assert_refused(409, "CONFLICT");
    assert_eq!(server.get_as(&key, &path).await.body["state"], "active");
}

#[tokio::test]
async fn only_an_operator_sees_and_changes_accounts() {
    let server = Server::dev();
    let (account, other) = (holder(&server), holder(&server));
    let path = format!("/v1/accounts/{}", other.id);
    for path in ["/v1/accounts", &path] {
        server.get_as(&account.key, path).await.assert_refused(403, "FORBIDDEN");
    }
    post(&server, &account.key, "/v1/accounts", json!({"name": "x"}))
        .await
        .assert_refused(403, "FORBIDDEN");
    patch(&server, &account.key, &path, json!({"name": "x"}))
        .await
        .assert_refused(403, "FORBIDDEN");
    let operator = operator(&server);
    for nobody in ["acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x"] {
        let path = format!("/v1/accounts/{nobody}");
        server.get_as(&operator, &path).await.assert_refused(404, "NOT_FOUND");
        patch(&server, &operator, &path, json!({})).await.assert_refused(404, "NOT_FOUND");
    }
    let all = pages(&server, &operator, "/v1/accounts", 2).await;
    let ids: Vec<String> = all.concat().iter().map(|it| text(&it["id"])).collect();
    assert!(ids.contains(&account.id) && ids.contains(&other.id) && ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.len(), server.cli(&["account", "list"]).as_array().expect("a list").len());
}

#[tokio::test]
async fn every_fault_of_an_account_is_named_at_once() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let all = json!({"name": " ", "plan": "prro", "sender": "nobody", "strict": 1});
    let refused = post(&server, &operator, "/v1/accounts", all).await;
    refused.assert_faults(&["name", "plan", "sender", "strict"]);
    assert!(refused.body.to_string().contains("ownPlan"), "{}", refused.body);
    post(&server, &operator, "/v1/accounts", json!({})).await.assert_faults(&["name"]);
    let own = json!({"name": "x", "plan": "prro", "ownPlan": true});
    assert_eq!(post(&server, &operator, "/v1/accounts", own).await.status, 201);
    // What an account has is known from then on.
    let path = format!("/v1/accounts/{}", account.id);
    assert_eq!(patch(&server, &operator, &path, json!({"plan": "prro"})).await.status, 200);
    let bad = json!({"state": "gone", "name": "a\nb", "plan": "Ä"});
    patch(&server, &operator, &path, bad).await.assert_faults(&["state", "name", "plan"]);
    post(&server, &operator, "/v1/accounts", json!([1])).await.assert_refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn an_account_holder_changes_its_name_its_sender_and_its_strictness() {
    let server = Server::dev();
    let account = holder(&server);
    let change =
        json!({"name": "Plover", "sender": "other@sandbox.test", "strict": true, "colour": 1});
    let changed = patch(&server, &account.key, "/v1/account", change).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(changed.body["warnings"], json!(["unknown field `colour`"]));
    let shown = server.get_as(&account.key, "/v1/account").await.body;
    assert_eq!(
        [&shown["name"], &shown["sender"]],
        [&json!("Plover"), &json!("other@sandbox.test")]
    );
    assert_eq!((&shown["strict"], &shown["balance"]), (&json!(true), &json!(100)));

    drop(post(&server, &account.key, "/v1/domains", json!({"name": "pending.example"})).await);
    for sender in ["a@pending.example", "a@nobody.example", "a@[192.0.2.1]"] {
        let refused = patch(&server, &account.key, "/v1/account", json!({"sender": sender})).await;
        refused.assert_faults(&["sender"]);
    }
    let operators = json!({"plan": "enterprise", "state": "active", "name": 7});
    let refused = patch(&server, &account.key, "/v1/account", operators).await;
    refused.assert_faults(&["name", "plan", "state"]);
    let cleared = patch(&server, &account.key, "/v1/account", json!({"sender": null})).await;
    assert_eq!(cleared.body["sender"], Value::Null, "{}", cleared.body);

    let (_, narrow) = server.make_key(&account.id, &["--scope", "admin", "--template", "receipt"]);
    let (_, test) = server.make_key(&account.id, &["--test", "--scope", "admin"]);
    let (_, sender) = server.make_key(&account.id, &[]);
    for key in [&narrow, &test] {
        assert_eq!(server.get_as(key, "/v1/account").await.status, 200);
        patch(&server, key, "/v1/account", json!({})).await.assert_refused(403, "FORBIDDEN");
    }
    server.get_as(&sender, "/v1/account").await.assert_refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn plans_are_those_that_the_live_policy_names() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let names = |list: &Value| -> Vec<String> {
        list["data"].as_array().expect("plans").iter().map(|it| text(&it["name"])).collect()
    };
    let list = server.get_as(&account.key, "/v1/plans").await.body;
    assert_eq!(names(&list), ["free", "starter", "pro", "business", "enterprise"]);
    assert_eq!((&list["plan"], &list["listed"]), (&json!("pro"), &json!(true)));
    let free = json!({"name": "free", "paid": false, "creditsPerRecipient": 1, "dailyLimit": null, "monthlyLimit": null});
    assert_eq!(list["data"][0], free);
    assert_eq!(server.get_as(&operator, "/v1/plans").await.body["plan"], Value::Null);
    let (_, sender) = server.make_key(&account.id, &[]);
    server.get_as(&sender, "/v1/plans").await.assert_refused(403, "FORBIDDEN");

    let settings = "kind = 'plan'\n[[settings.plans]]\nname = 'free'\n[[settings.plans]]\nname = 'gold'\n\
                    creditsPerRecipient = 2\ndailyLimit = 10\n";
    let folder = server.dev_output("pluginsDir");
    let open = async |plan: &str| {
        let body = json!({"name": "x", "plan": plan});
        post(&server, &operator, "/v1/accounts", body).await
    };
    open("gold").await.assert_faults(&["plan"]);
    fs::write(format!("{folder}/plan-policy.toml"), settings).expect("written");
    let changed = async || {
        let list = server.get_as(&operator, "/v1/plans").await.body;
        (names(&list) == ["free", "gold"]).then_some(list)
    };
    let wait = std::time::Duration::from_mins(1);
    let list = until_async("the settings are live", wait, changed).await;
    let gold = json!({"name": "gold", "paid": true, "creditsPerRecipient": 2, "dailyLimit": 10, "monthlyLimit": null});
    assert_eq!(list["data"][1], gold);
    let opened = open("gold").await;
    assert_eq!((opened.status, &opened.body["plan"]), (201, &json!("gold")), "{}", opened.body);
    open("silver").await.assert_faults(&["plan"]);
}

#[tokio::test]
async fn what_bounced_lately_is_said_of_an_account_as_on_its_page() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let path = format!("/v1/accounts/{}", account.id);
    let nothing = json!({"accepted": 0, "bounced": 0, "bouncedPerMille": null, "risky": false});
    assert_eq!(server.get_as(&operator, &path).await.body["last7Days"], nothing);
    let (id, hour) = (server.in_sql(&account.id), now_ms() / 3_600_000);
    let sent = format!(
        "INSERT INTO sent (period, state, account_id, changes)
         VALUES ({hour}, 'accepted', {id}, 40), ({hour} - 1, 'bounced', {id}, 2),
                ({hour} - 200, 'bounced', {id}, 9)"
    );
    change(&server, &sent).await;
    let seen = json!({"accepted": 40, "bounced": 2, "bouncedPerMille": 50, "risky": true});
    let shown = server.get_as(&operator, &path).await.body;
    assert_eq!(shown["last7Days"], seen, "{shown}");
    assert_eq!(server.get_as(&account.key, "/v1/account").await.body, shown);
    assert_eq!(server.cli(&["account", "show", &account.id]), shown);
    let listed = pages(&server, &operator, "/v1/accounts", 500).await.concat();
    assert!(listed.contains(&shown), "{listed:?}");
    let page = Browser::of_dev(&server).await.get(&format!("/ops/accounts/{}", account.id)).await;
    assert!(page.html.contains("5.0\u{202f}%"), "{}", page.html);
}
