//! `POST /messages/send/batch`: one result for each message, in order.

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, assert_problem};

use crate::fixture::{Database, message, with};

#[tokio::test]
async fn results_stand_in_order_and_a_fault_is_its_own_messages_only() {
    let server = Server::dev();
    let batch = json!([
        message("a@example.com"),
        message("nobody"),
        message("b@example.com"),
        with(message("c@example.com"), "template", json!("unknown")),
        with(message("d@example.com"), "from", json!("me@stranger.example.com")),
        7,
        with(message("e@example.com"), "colour", json!("red")),
    ]);
    let answer = server.send_batch(server.key(), &batch).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["success"], false);
    let data = answer.body["data"].as_array().expect("results");
    let codes: Vec<&str> = data.iter().map(|it| it["code"].as_str().unwrap_or("sent")).collect();
    let wanted = [
        "sent",
        "BAD_REQUEST",
        "sent",
        "BAD_REQUEST",
        "DOMAIN_NOT_VERIFIED",
        "BAD_REQUEST",
        "sent",
    ];
    assert_eq!(codes, wanted);
    for result in data {
        if result["success"] == true {
            assert!(result["creditsRemaining"].is_i64(), "{result}");
        } else {
            let status = result["status"].as_u64().and_then(|it| u16::try_from(it).ok());
            assert_problem(result, status.expect("a status"));
            assert_eq!(result["requestId"].as_str(), answer.header("x-request-id"));
        }
    }
    assert_eq!(data[1]["errors"][0]["field"], "to");
    assert_eq!(data[3]["errors"][0]["field"], "template");
    assert!(data[6]["warnings"].to_string().contains("colour"));
    for (index, to) in [(0, "a@example.com"), (2, "b@example.com"), (6, "e@example.com")] {
        let id = data[index]["messageId"].as_str().expect("an id");
        assert_eq!(server.message(id)["to"], to, "the result {index} is that of its message");
    }
    assert_eq!(server.wait_for_mails(3).await.len(), 3);
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 3);
}

#[tokio::test]
async fn five_hundred_are_sent_and_five_hundred_and_one_are_refused() {
    let server = Server::dev();
    let batch = |count: usize| {
        Value::from((0..count).map(|n| message(&format!("n{n}@example.com"))).collect::<Vec<_>>())
    };
    let refused = server.send_batch(server.key(), &batch(501)).await;
    refused.assert_faults(&[""]);
    for empty in [json!([]), json!({}), json!("x"), message("a@example.com")] {
        server.send_batch(server.key(), &empty).await.assert_faults(&[""]);
    }
    let sent = server.send_batch(server.key(), &batch(500)).await;
    assert_eq!(sent.status, 200);
    assert_eq!(sent.body["success"], true);
    assert_eq!(sent.body["data"].as_array().map(Vec::len), Some(500));
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 500);
    let mails = server.wait_for_mails(500).await;
    assert_eq!(mails.len(), 500, "and nothing of what was refused");
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn credits_are_spent_from_the_first_to_the_last() {
    let server = Server::dev();
    let account = server.open_account("free", 3);
    let to = ["a@example.com", "b@example.com", "c@example.com", "d@example.com", "e@example.com"];
    let batch = Value::from(to.map(message).to_vec());
    let answer = server.send_batch(&account.key, &batch).await;
    let data = answer.body["data"].as_array().expect("results");
    let left: Vec<&Value> = data.iter().map(|it| &it["creditsRemaining"]).collect();
    assert_eq!(left, [2, 1, 0, 0, 0]);
    for result in data.iter().skip(3) {
        assert_problem(result, 402);
        assert_eq!(
            (&result["code"], &result["required"]),
            (&json!("INSUFFICIENT_BALANCE"), &json!(1))
        );
    }
    assert_eq!(server.balance(&account.id), 0);
    assert_eq!(server.messages(&account.id).len(), 3);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn every_message_of_a_batch_counts_for_the_rate_limit() {
    let launch = Launch::dev().with("limits", "sends_per_second", "1");
    let server = Server::start(launch.with("limits", "send_burst", "10"));
    let batch = |count: usize| Value::from(vec![message("a@example.com"); count]);
    let four = server.send_batch(server.key(), &batch(4)).await;
    assert_eq!(four.status, 200);
    assert_eq!(four.header("ratelimit-limit"), Some("10"));
    assert_eq!(four.header("ratelimit-remaining"), Some("6"));
    assert!(four.header("ratelimit-reset").is_some());
    let ten = server.send_batch(server.key(), &batch(10)).await;
    ten.assert_refused(429, "RATE_LIMITED");
    let eleven = server.send_batch(server.key(), &batch(11)).await;
    assert!(matches!(eleven.status, 400 | 429), "{}", eleven.body);
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 4);
}

#[tokio::test]
async fn a_batch_needs_a_key_like_any_send() {
    let server = Server::dev();
    let batch = json!([message("a@example.com")]);
    server.send_batch("wrong", &batch).await.assert_refused(401, "UNAUTHORIZED");
    let account = server.open_account("free", 1);
    drop(server.cli(&["account", "deactivate", &account.id]));
    server.send_batch(&account.key, &batch).await.assert_refused(403, "FORBIDDEN");
}
