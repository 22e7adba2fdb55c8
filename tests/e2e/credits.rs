//! Credits: never spent twice, never lost, never taken for what is not sent.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::json;
use waxwing_tests::{Answer, Server};

use crate::fixture::{Database, message, with};

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_clients_spend_the_last_hundred_credits_and_not_one_more() {
    let server = Server::dev();
    let account = server.open_account("free", 100);
    let client = async |client: usize| -> Vec<Answer> {
        let mut answers = Vec::new();
        for n in 0..3 {
            let to = format!("c{client}-{n}@example.com");
            answers.push(server.send(&account.key, &message(&to)).await);
        }
        answers
    };
    let answers: Vec<Answer> = join_all((0..64).map(client)).await.into_iter().flatten().collect();
    let (sent, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.status == 201);
    assert_eq!(sent.len(), 100);
    assert_eq!(refused.len(), 64 * 3 - 100);
    for answer in refused {
        answer.assert_refused(402, "INSUFFICIENT_BALANCE");
        assert_eq!(
            (&answer.body["required"], &answer.body["creditsRemaining"]),
            (&json!(1), &json!(0))
        );
    }
    let ids: BTreeSet<String> = sent.iter().map(|it| it.message_id()).collect();
    assert_eq!(ids.len(), 100, "each has a message of its own");
    let left: BTreeSet<i64> =
        sent.iter().filter_map(|it| it.body["creditsRemaining"].as_i64()).collect();
    assert_eq!(left, (0..100).collect(), "each was told the balance after its own debit");

    assert_eq!(server.balance(&account.id), 0);
    let stored: BTreeSet<String> = server
        .messages(&account.id)
        .iter()
        .map(|it| it["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(stored, ids);
    server.wait_for_mails(100).await;
    Database::of(&server).await.assert_sound().await;
}

#[test]
fn grants_made_beside_a_running_server_are_not_lost_and_not_in_its_way() {
    let server = Server::dev();
    let account = server.open_account("free", 300);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let answers = std::thread::scope(|scope| {
        let granting = scope.spawn(|| (0..20).for_each(|_| server.grant(&account.id, 10)));
        let client = async |client: usize| -> Vec<Answer> {
            let mut answers = Vec::new();
            while !granting.is_finished() && answers.len() < 37 {
                let to = format!("c{client}n{}@example.com", answers.len());
                answers.push(server.send(&account.key, &message(&to)).await);
            }
            answers
        };
        let answers = runtime.block_on(join_all((0..8).map(client))).concat();
        granting.join().expect("every grant succeeds");
        answers
    });
    let refused: Vec<_> = answers.iter().filter(|it| it.status != 201).map(|it| &it.body).collect();
    assert!(refused.is_empty(), "{} of {}: {refused:?}", refused.len(), answers.len());
    let spent = i64::try_from(answers.len()).expect("a small number");
    assert!(spent > 0, "sends ran beside the grants");
    assert_eq!(server.balance(&account.id), 300 + 200 - spent);
    runtime.block_on(async { Database::of(&server).await.assert_sound().await });
}

#[tokio::test]
async fn the_ledger_tells_every_credit() {
    let server = Server::dev();
    let account = server.open_account("free", 5);
    let id = server.send(&account.key, &message("a@example.com")).await.message_id();
    server.grant(&account.id, 7);
    let shown = server.cli(&["credits", "show", "--account", &account.id]);
    assert_eq!(shown["balance"], 5 - 1 + 7);
    let ledger = shown["ledger"].as_array().expect("a ledger");
    let entries: Vec<(&str, i64)> = ledger
        .iter()
        .map(|it| (it["kind"].as_str().expect("a kind"), it["amount"].as_i64().expect("a number")))
        .collect();
    assert_eq!(entries, [("grant", 7), ("debit", -1), ("grant", 5)], "newest first");
    assert_eq!(ledger[1]["messages"], 1, "the debit says how many messages it pays for");
    assert_eq!(server.message(&id)["credits"], 1, "and the message what it cost");
}

#[tokio::test]
async fn a_test_key_costs_nothing_and_its_mail_stays_here() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    let (_, test) = server.make_key(&account.id, &["--test"]);
    assert!(test.starts_with("wx_test_"));
    let answer = server.send(&test, &message("a@example.com")).await;
    let id = answer.message_id();
    assert_eq!(answer.body["creditsRemaining"], 0);
    server.wait_for_mail_to("a@example.com").await;
    assert_eq!(server.message(&id)["credits"], 0);
    server
        .send(&account.key, &message("b@example.com"))
        .await
        .assert_refused(402, "INSUFFICIENT_BALANCE");
}

#[tokio::test]
async fn a_suppressed_recipient_is_accepted_costs_nothing_and_gets_nothing() {
    let server = Server::dev();
    let account = server.open_account("free", 2);
    drop(server.cli(&["message", "suppress", "--account", &account.id, "Gone@Example.com"]));
    for to in ["gone@example.com", "GONE@EXAMPLE.COM"] {
        let answer = server.send(&account.key, &message(to)).await;
        let id = answer.message_id();
        assert_eq!(answer.body["state"], "suppressed");
        assert_eq!(answer.body["creditsRemaining"], 2);
        let shown = server.message(&id);
        assert_eq!((&shown["state"], &shown["credits"]), (&json!("suppressed"), &json!(0)));
        assert_ne!(shown["reason"], "", "{shown}");
    }
    // What is accepted later arrives; by then the suppressed ones would have arrived too.
    server.send(&account.key, &message("here@example.com")).await.message_id();
    server.wait_for_mail_to("here@example.com").await;
    assert_eq!(server.inbox().await.len(), 1);
    assert_eq!(server.balance(&account.id), 1);
    let database = Database::of(&server).await;
    let queued = "SELECT count(*) FROM queue q JOIN messages m ON m.id = q.message_id
                  WHERE m.recipient LIKE 'gone@%'";
    assert_eq!(database.number(queued).await, 0);
    database.assert_sound().await;

    let elsewhere = server.send(server.key(), &message("gone@example.com")).await;
    assert_eq!(elsewhere.body["state"], "queued", "the list is an account's own");
}

#[tokio::test]
async fn no_refusal_moves_the_balance() {
    let server = Server::dev();
    let account = server.open_account("free", 10);
    let good = message("a@example.com");
    for bad in [
        with(good.clone(), "to", json!("nobody")),
        with(good.clone(), "template", json!("unknown")),
        with(good.clone(), "data", json!({})),
        with(good, "from", json!("me@stranger.example.com")),
    ] {
        let answer = server.send(&account.key, &bad).await;
        assert!(answer.status >= 400, "{}", answer.body);
        let answer = server.send_batch(&account.key, &json!([bad.clone(), bad])).await;
        assert_eq!(answer.body["success"], false);
    }
    assert_eq!(server.balance(&account.id), 10);
    assert!(server.messages(&account.id).is_empty());
    Database::of(&server).await.assert_sound().await;
}
