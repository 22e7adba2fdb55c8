//! What waits can be canceled: then it is not sent, and its price is refunded, once.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use waxwing_tests::{Launch, now_ms};

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
    let before = server.balance(server.dev_output("accountId"));
    let kept = server.send(server.key(), &message("kept@example.com")).await.message_id();
    let id = server.send(server.key(), &message("gone@example.com")).await.message_id();
    let cancel = || async {
        until_state(&server, server.key(), &id, "deferred").await;
        let answer = post(&server, server.key(), &format!("/{id}/cancel")).await;
        (answer.status == 200).then_some(())
    };
    until_async("it is canceled", Duration::from_secs(30), cancel).await;
    server.restart_as(Launch::dev());
    server.wait_for_mail_to("kept@example.com").await;
    until_state(&server, server.key(), &kept, "delivered").await;
    assert_eq!(server.inbox().await.len(), 1);
    assert_eq!(server.balance(server.dev_output("accountId")), before - 1);
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
        assert!(server.cli_fails(&["message", "cancel", id]).contains("canceled"));
    }
    assert_eq!(server.balance(&ann.id), 9);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_cancelled_under_way_is_delivered_or_refunded_never_both() {
    const MESSAGES: usize = 200;
    let server = Server::dev();
    let ann = holder(&server, 1_000);
    let database = Database::of(&server).await;
    let tomorrow = json!(from_now(Duration::from_hours(24)));
    let later = |n: usize| with(message(&format!("n{n}@example.com")), "sendAt", tomorrow.clone());
    let batch: Vec<Value> = (0..MESSAGES).map(later).collect();
    let answer = server.send_batch(&ann.key, &json!(batch)).await;
    let results = answer.body["data"].as_array().expect("results");
    let mut ids: Vec<&str> = results.iter().filter_map(|it| it["messageId"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids.len(), MESSAGES);
    // Now they are due one after the other, and are canceled from the other end: those who call them
    // back and those who send them meet. Another message wakes the worker.
    let one_by_one = format!(
        "UPDATE queue SET due_at = {} + 20 *
           (SELECT count(*) FROM queue AS before WHERE before.message_id < queue.message_id)",
        now_ms()
    );
    assert_eq!(change(&server, &one_by_one).await, 200);
    server.send(server.key(), &message("wake@example.com")).await.message_id();
    let some_have_left = || async {
        let left = "SELECT count(*) FROM messages WHERE state = 'delivered'";
        (database.number(left).await > 10).then_some(())
    };
    until_async("some have left", Duration::from_secs(30), some_have_left).await;
    let cancel = async |n: usize| -> (String, u16) {
        let status = post(&server, &ann.key, &format!("/{}/cancel", ids[n])).await.status;
        (ids[n].to_owned(), status)
    };
    let mut answers = Vec::new();
    for group in (0..MESSAGES / 20).rev() {
        answers.extend(join_all((0..20).map(|n| cancel(group * 20 + n))).await);
    }
    let (canceled, sent): (Vec<_>, Vec<_>) = answers.iter().partition(|(_, status)| *status == 200);
    assert!(sent.iter().all(|(_, status)| *status == 409), "{sent:?}");
    assert!(!canceled.is_empty() && !sent.is_empty(), "{answers:?}");
    server.wait_for_mails(sent.len() + 1).await;
    let at_rest = || async {
        let waiting = database.number("SELECT count(*) FROM queue").await;
        (waiting == 0).then_some(())
    };
    until_async("all are at rest", Duration::from_secs(30), at_rest).await;
    let state =
        "SELECT id FROM messages WHERE state = 'delivered' AND recipient <> 'wake@example.com'";
    let delivered: BTreeSet<String> = database.messages(state).await.into_iter().collect();
    let wanted: BTreeSet<String> = sent.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(delivered, wanted, "what was not canceled was delivered, and nothing else");
    assert_eq!(server.inbox().await.len(), sent.len() + 1, "once");
    let paid = i64::try_from(sent.len()).expect("few");
    assert_eq!(server.balance(&ann.id), 1_000 - paid);
    database.assert_sound().await;
}
