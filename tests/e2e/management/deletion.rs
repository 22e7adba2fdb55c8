//! The deletion of an account: over HTTP, by the command line, and over a kill in the middle.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Account, Server, from_now, until_async};

use super::{delete, holder, operator, patch, post};
use crate::export::files;
use crate::fixture::{Database, message, with};
use crate::messages::until_state;

const BOUND: Duration = Duration::from_mins(1);
const MEMBER: &str = "member@example.com";

/// What waits, or belongs to no account any more.
const LEFT: [&str; 5] = [
    "SELECT count(*) FROM messages",
    "SELECT count(*) FROM bodies",
    "SELECT count(*) FROM queue",
    "SELECT count(*) FROM ledger WHERE account_id NOT IN (SELECT id FROM accounts)",
    "SELECT count(*) FROM events WHERE account_id NOT IN (SELECT id FROM accounts)",
];
const LOG: &str =
    "SELECT action || ' ' || coalesce(subject, '') FROM audit WHERE account_id IS NULL";

/// The files of an account's export.
fn exported(server: &Server, account: &Account, name: &str) -> BTreeMap<String, String> {
    let to = server.scratch(name);
    let path = to.to_str().expect("UTF-8");
    drop(server.cli(&["export", "--account", &account.id, "--to", path]));
    files(&to)
}

async fn until_gone(server: &Server, operator: &str, path: &str) {
    let gone = || async { (server.get_as(operator, path).await.status == 404).then_some(()) };
    until_async("the account is gone", BOUND, gone).await;
}

#[tokio::test]
async fn a_deleted_account_is_gone_and_another_one_is_as_it_was() {
    let server = Server::dev();
    let (account, other, operator) = (holder(&server), holder(&server), operator(&server));
    for (account, to) in [(&account, "gone@example.com"), (&other, "kept@example.com")] {
        let id = server.send(&account.key, &message(to)).await.message_id();
        until_state(&server, &account.key, &id, "delivered").await;
        let address = json!({"address": "eve@example.com"});
        assert!(post(&server, &account.key, "/v1/suppressions", address).await.status < 300);
    }
    let hook = json!({"url": "https://hooks.example/waxwing"});
    assert_eq!(post(&server, &account.key, "/v1/webhooks", hook).await.status, 201);
    let member = ["--email", MEMBER, "--account", &account.id, "--role", "owner"];
    drop(server.cli(&[&["user", "add"][..], &member].concat()));
    let before = exported(&server, &other, "before.zip");

    let path = format!("/v1/accounts/{}", account.id);
    delete(&server, &operator, &path).await.assert_refused(409, "CONFLICT");
    delete(&server, &account.key, &path).await.assert_refused(403, "FORBIDDEN");
    let suspended = patch(&server, &operator, &path, json!({"state": "suspended"})).await;
    assert_eq!(suspended.status, 200, "{}", suspended.body);
    let ordered = delete(&server, &operator, &path).await;
    assert_eq!((ordered.status, &ordered.body["state"]), (202, &json!("deleting")));
    // It may be gone by now.
    for change in [json!({"state": "active"}), json!({"name": "Back"})] {
        let changed = patch(&server, &operator, &path, change).await;
        assert!(matches!(changed.status, 404 | 409), "{}", changed.body);
    }
    let keys = format!("/v1/keys?account={}", account.id);
    server.get_as(&operator, &keys).await.assert_refused(404, "NOT_FOUND");
    let sent = server.send(&account.key, &message("late@example.com")).await;
    assert!(matches!(sent.status, 401 | 403), "{}", sent.body);
    until_gone(&server, &operator, &path).await;

    server
        .send(&account.key, &message("late@example.com"))
        .await
        .assert_refused(401, "UNAUTHORIZED");
    let mails: Vec<String> = server.inbox().await.into_iter().map(|it| it.to).collect();
    assert_eq!(mails, ["kept@example.com"], "its mail in the sandbox inbox went, too");
    let users = server.cli(&["user", "list"]).to_string();
    assert!(!users.contains(MEMBER), "{users}");
    let log = Database::of(&server).await.texts(LOG).await;
    let sums = "100 credits granted, 1 spent, 0 refunded, 0 adjusted, 99 left";
    let wanted = [
        format!("delete_account {}", account.id),
        format!("account_deleted {}: {sums}", account.id),
    ];
    assert!(wanted.iter().all(|it| log.contains(it)), "{wanted:?} of {log:#?}");

    let mut after = exported(&server, &other, "after.zip");
    // The first export is written down in it, newest first.
    let audit = after.insert("audit.jsonl".to_owned(), before["audit.jsonl"].clone());
    assert!(audit.is_some_and(|it| it.ends_with(&before["audit.jsonl"])));
    assert_eq!(after, before, "of the other account");
    server.send(&other.key, &message("on@example.com")).await.message_id();
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_a_deletion_leaves_one_that_goes_on() {
    let mut server = Server::dev();
    let (account, operator) = (server.open_account("pro", 2_000), operator(&server));
    let database = Database::of(&server).await;
    let tomorrow = json!(from_now(Duration::from_hours(24)));
    let waits = |n: usize| with(message(&format!("n{n}@example.com")), "sendAt", tomorrow.clone());
    let waiting = Value::from((0..500).map(waits).collect::<Vec<_>>());
    for _ in 0..3 {
        let sent = server.send_batch(&account.key, &waiting).await;
        assert_eq!(sent.body["success"], true, "{}", sent.body);
    }
    let path = format!("/v1/accounts/{}", account.id);
    patch(&server, &operator, &path, json!({"state": "suspended"})).await;
    assert_eq!(delete(&server, &operator, &path).await.status, 202);
    let canceled = "SELECT count(*) FROM messages WHERE state = 'canceled'";
    let begun = || async { (database.number(canceled).await > 0).then_some(()) };
    until_async("the deletion has begun", BOUND, begun).await;
    server.kill9();
    let deleting = "SELECT count(*) FROM accounts WHERE state = 'deleting'";
    assert_eq!(database.number(deleting).await, 1, "it is not done");

    server.restart();
    until_gone(&server, &operator, &path).await;
    for left in LEFT {
        assert_eq!(database.number(left).await, 0, "{left}");
    }
    let log = database.texts(LOG).await;
    let sums = "2000 credits granted, 1500 spent, 1500 refunded, 0 adjusted, 2000 left";
    let wanted = format!("account_deleted {}: {sums}", account.id);
    assert_eq!(log.iter().filter(|it| **it == wanted).count(), 1, "{log:#?}");
}

#[tokio::test]
async fn the_command_line_deletes_a_suspended_account_that_is_confirmed() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let path = format!("/v1/accounts/{}", account.id);
    let said = server.cli_fails(&["account", "delete", &account.id]);
    assert!(said.contains("nothing was deleted") && said.contains("--yes"), "{said}");
    let said = server.cli_fails(&["account", "delete", &account.id, "--yes"]);
    assert!(said.contains("suspend the account first"), "{said}");
    assert!(said.contains("waxwing account deactivate"), "{said}");
    drop(server.cli(&["account", "deactivate", &account.id]));
    let ordered = server.cli(&["account", "delete", &account.id, "--yes"]);
    assert_eq!(ordered["state"], "deleting", "{ordered}");
    until_gone(&server, server.key(), &path).await;
    let said = server.cli_fails(&["account", "show", &account.id]);
    assert!(said.contains(&account.id), "{said}");
    let log = Database::of(&server).await.texts(LOG).await;
    assert!(log.contains(&format!("delete_account {}", account.id)), "{log:#?}");
}

#[tokio::test]
async fn the_command_line_changes_nothing_of_an_account_being_deleted() {
    let mut server = Server::dev();
    let account = server.open_account("pro", 10);
    let of = ["--account", &account.id];
    let hook = "https://hooks.example/waxwing";
    let made = server.cli(&[&["webhook", "create", hook][..], &of].concat());
    let webhook = made["id"].as_str().expect("an identifier");
    let made = server.cli(&[&["key", "create"][..], &of].concat());
    let key = made["id"].as_str().expect("an identifier");
    // Without a server the deletion does not go on.
    assert!(server.terminate().success());
    drop(server.cli(&["account", "deactivate", &account.id]));
    let delete = ["account", "delete", &account.id, "--yes"];
    assert_eq!(server.cli(&delete)["state"], "deleting");
    let user = ["user", "add", "--email", "late@example.com", "--role", "owner"];
    let of_account: [&[&str]; 7] = [
        &["key", "create"],
        &["domain", "add", "late.example"],
        &["webhook", "create", hook],
        &user,
        &["suppression", "add", "late@example.com"],
        &["credits", "grant", "5"],
        &["template", "archive", "welcome"],
    ];
    let mut commands: Vec<Vec<&str>> = of_account.iter().map(|it| [*it, &of].concat()).collect();
    commands.push(vec!["account", "update", &account.id, "--name", "Late"]);
    commands.push(vec!["webhook", "update", webhook, "--description", "late"]);
    commands.push(vec!["key", "update", key, "--name", "late"]);
    for command in commands {
        let said = server.cli_fails(&command);
        assert!(
            said.contains("the account is being deleted; nothing of it"),
            "{command:?}: {said}"
        );
    }
    assert!(!server.cli(&["user", "list"]).to_string().contains("late@example.com"));
    assert_eq!(server.cli(&delete)["state"], "deleting", "asked once more");
    assert!(!exported(&server, &account, "last.zip").is_empty(), "it can be exported to the end");
}
