//! What waits can be called back: then it is not sent, and its price is given back, once.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use waxwing_tests::Launch;

use super::*;

#[tokio::test]
async fn a_scheduled_message_is_called_back_and_refunded_once() {
    let mut server = Server::dev();
    let ann = holder(&server, 10);
    let id = send_tomorrow(&server, &ann.key, "later@example.com").await;
    assert_eq!(server.balance(&ann.id), 9);
    let mut answers = Vec::new();
    for _ in 0..3 {
        let answer = post(&server, &ann.key, &format!("/{id}/cancel")).await;
        assert_eq!((answer.status, &answer.body["state"]), (200, &json!("canceled")));
        assert_eq!((&answer.body["credits"], &answer.body["refunded"]), (&json!(1), &json!(1)));
        assert_eq!(server.balance(&ann.id), 10);
        answers.push(answer.body);
    }
    assert!(answers.iter().all(|it| *it == answers[0]), "the same each time");
    assert_eq!(types(&answers[0]["events"]), ["message.scheduled", "message.canceled"]);
    assert_eq!(server.cli(&["message", "cancel", &id])["state"], "canceled");
    server.restart();
    assert_eq!(get(&server, &ann.key, &format!("/{id}")).await["state"], "canceled");
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM queue").await, 0);
    database.assert_sound().await;
}

#[tokio::test]
async fn a_deferred_message_is_called_back_and_never_arrives() {
    let down = Launch::dev().with("inbox", "enabled", "false");
    let mut server = Server::start(down.with("delivery", "retry_pauses_s", "[3]"));
    let before = server.balance(server.told("accountId"));
    let kept = server.send(server.key(), &message("kept@example.com")).await.message_id();
    let id = server.send(server.key(), &message("gone@example.com")).await.message_id();
    let cancel = || async {
        until_state(&server, server.key(), &id, "deferred").await;
        let answer = post(&server, server.key(), &format!("/{id}/cancel")).await;
        (answer.status == 200).then_some(())
    };
    until_async("it is called back", Duration::from_secs(30), cancel).await;
    server.restart_as(Launch::dev());
    server.wait_for_mail_to("kept@example.com").await;
    until_state(&server, server.key(), &kept, "delivered").await;
    assert_eq!(server.inbox().await.len(), 1);
    assert_eq!(server.balance(server.told("accountId")), before - 1);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn what_has_left_or_come_to_an_end_is_not_called_back() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let id = server.send(&ann.key, &message("a@example.com")).await.message_id();
    until_state(&server, &ann.key, &id, "delivered").await;
    drop(server.cli(&["message", "suppress", "--account", &ann.id, "gone@example.com"]));
    let never = server.send(&ann.key, &message("gone@example.com")).await.message_id();
    for (id, words) in [(&id, "has left"), (&never, "suppression list")] {
        let answer = post(&server, &ann.key, &format!("/{id}/cancel")).await;
        answer.assert_refused(409, "CONFLICT");
        let text = answer.body["message"].as_str().unwrap_or_default();
        assert!(text.contains(words), "{text}");
        assert!(server.cli_fails(&["message", "cancel", id]).contains("called back"));
    }
    assert_eq!(server.balance(&ann.id), 9);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_called_back_while_it_is_sent_is_delivered_or_refunded_and_never_both() {
    const MESSAGES: usize = 300;
    let server = Server::dev();
    let ann = holder(&server, 1_000);
    let one = async |n: usize| -> (String, u16) {
        let to = format!("n{n}@example.com");
        let id = server.send(&ann.key, &message(&to)).await.message_id();
        // Some at once, some when the worker may have them.
        for _ in 0..n % 4 {
            drop(get(&server, &ann.key, &format!("/{id}")).await);
        }
        (to, post(&server, &ann.key, &format!("/{id}/cancel")).await.status)
    };
    let mut answers = Vec::new();
    for group in 0..MESSAGES / 30 {
        answers.extend(join_all((0..30).map(|n| one(group * 30 + n))).await);
    }
    let (canceled, sent): (Vec<_>, Vec<_>) = answers.iter().partition(|(_, status)| *status == 200);
    assert!(sent.iter().all(|(_, status)| *status == 409), "{sent:?}");
    assert!(!canceled.is_empty(), "none was called back in time");
    let mails = server.wait_for_mails(sent.len()).await;
    let database = Database::of(&server).await;
    let at_rest = || async {
        let waiting = database.number("SELECT count(*) FROM queue").await;
        (waiting == 0).then_some(())
    };
    until_async("all are at rest", Duration::from_secs(30), at_rest).await;
    let arrived: BTreeSet<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    let wanted: BTreeSet<&str> = sent.iter().map(|(to, _)| to.as_str()).collect();
    assert_eq!(arrived, wanted, "what was not called back arrived, and nothing else");
    assert_eq!(server.inbox().await.len(), sent.len(), "once");
    let spent = i64::try_from(sent.len()).expect("few");
    assert_eq!(server.balance(&ann.id), 1_000 - spent);
    database.assert_sound().await;
}
