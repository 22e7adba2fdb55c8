//! `Idempotency-Key`: one request, however often it is sent.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Answer, Launch, Server};

use crate::fixture::{Database, Template, message, publish, with};

#[tokio::test]
async fn the_same_request_gets_the_first_answer_again_and_is_sent_once() {
    let server = Server::dev();
    let first = server.send_once(server.key(), &message("a@example.com"), "one").await;
    first.message_id();
    assert_eq!(first.header("idempotency-replayed"), None);
    server.send(server.key(), &message("b@example.com")).await.message_id();
    for _ in 0..3 {
        let again = server.send_once(server.key(), &message("a@example.com"), "one").await;
        assert_eq!(again.status, 201);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.body, first.body);
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 2);
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 2);
    assert_eq!(server.wait_for_mails(2).await.len(), 2);
}

#[tokio::test]
async fn another_body_with_the_same_key_is_a_conflict() {
    let server = Server::dev();
    server.send_once(server.key(), &message("a@example.com"), "one").await.message_id();
    let other = server.send_once(server.key(), &message("b@example.com"), "one").await;
    other.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    let batch = json!([message("a@example.com")]);
    let headers = [("idempotency-key", "one")];
    let batch = server.post("/messages/send/batch", server.key(), &batch, &headers).await;
    batch.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 1);
}

#[tokio::test]
async fn the_order_of_names_and_white_space_do_not_matter() {
    let server = Server::dev();
    let bodies = [
        r#"{"to":"a@example.com","type":"EMAIL","template":"verification-code","data":{"code":"1","x":[1,{"p":1,"q":2}]}}"#,
        "{ \"data\" : {\"x\":[1, {\"q\":2,\"p\":1}],\n\"code\":\"\\u0031\"}, \"template\":\"verification-code\", \"type\":\"EMAIL\", \"to\":\"a@example.com\"}",
    ];
    let mut ids = Vec::new();
    for body in bodies {
        let request =
            server.request(Method::POST, "/messages/send").header("x-api-key", server.key());
        let request =
            request.header("idempotency-key", "k").header("content-type", "application/json");
        ids.push(server.answer(request.body(body)).await.message_id());
    }
    assert_eq!(ids[0], ids[1]);
    let moved = bodies[0].replace(r#"[1,{"p":1,"q":2}]"#, r#"[{"p":1,"q":2},1]"#);
    let request = server.request(Method::POST, "/messages/send").header("x-api-key", server.key());
    let request = request.header("idempotency-key", "k").header("content-type", "application/json");
    server.answer(request.body(moved)).await.assert_refused(422, "IDEMPOTENCY_CONFLICT");
}

#[tokio::test]
async fn keys_are_an_accounts_own() {
    let server = Server::dev();
    let other = server.open_account("free", 1);
    let one = server.send_once(server.key(), &message("a@example.com"), "k").await.message_id();
    let two = server.send_once(&other.key, &message("a@example.com"), "k").await.message_id();
    assert_ne!(one, two);
    let (_, second_key) = server.make_key(&other.id, &[]);
    let again = server.send_once(&second_key, &message("a@example.com"), "k").await;
    assert_eq!(again.message_id(), two, "another key of the account is the same account");
}

#[tokio::test]
async fn what_a_test_key_sent_is_still_to_be_sent_with_a_live_key() {
    let server = Server::dev();
    let live = server.open_account("pro", 10);
    let (_, test) = server.make_key(&live.id, &["--test"]);
    let body = message("a@example.com");
    for (first, second, once) in
        [(&test, &live.key, "test first"), (&live.key, &test, "live first")]
    {
        let once = once.replace(' ', "-");
        let first_id = server.send_once(first, &body, &once).await.message_id();
        let second_id = server.send_once(second, &body, &once).await.message_id();
        assert_ne!(first_id, second_id, "{once}");
        for (key, id) in [(first, &first_id), (second, &second_id)] {
            let again = server.send_once(key, &body, &once).await;
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            assert_eq!(again.message_id(), *id);
        }
        // A body of its own, too.
        let other = server.send_once(first, &message("b@example.com"), &once).await;
        other.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    }
    assert_eq!((server.messages(&live.id).len(), server.balance(&live.id)), (4, 8));
}

#[tokio::test]
async fn a_restricted_key_gets_no_receipt_of_what_it_may_not_send() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    drop(server.cli(&["domain", "add", "--account", &account.id, "second.test", "--sandbox"]));
    publish(
        &server,
        &account.id,
        "other",
        &Template { subject: "s", text: Some("t"), ..Template::default() },
        &[],
    );
    let body = message("a@example.com");
    let second = with(body.clone(), "from", json!("hello@second.test"));
    let sent = server.send_once(&account.key, &body, "one").await.message_id();
    let other = server.send_once(&account.key, &second, "two").await.message_id();
    let batch = json!([body, second]);
    let post = async |key: &str| {
        let headers = [("idempotency-key", "batch")];
        server.post("/messages/send/batch", key, &batch, &headers).await.body
    };
    assert_eq!(post(&account.key).await["success"], true);

    let (_, by_template) = server.make_key(&account.id, &["--template", "other"]);
    server.send_once(&by_template, &body, "one").await.assert_refused(403, "FORBIDDEN");
    let (_, by_domain) = server.make_key(&account.id, &["--domain", "sandbox.test"]);
    assert_eq!(server.send_once(&by_domain, &body, "one").await.message_id(), sent);
    let refused = server.send_once(&by_domain, &second, "two").await;
    refused.assert_refused(403, "FORBIDDEN");
    assert!(!refused.body.to_string().contains(&other), "{}", refused.body);
    let replayed = post(&by_domain).await;
    assert!(replayed["data"][0]["messageId"].is_string(), "{replayed}");
    assert_eq!(replayed["data"][1]["code"], "FORBIDDEN", "{replayed}");
    assert_eq!(server.messages(&account.id).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_at_once_make_one_message() {
    let server = Server::dev();
    for round in 0..5 {
        let key = format!("round-{round}");
        let body = message(&format!("{key}@example.com"));
        let requests = (0..32).map(|_| server.send_once(server.key(), &body, &key));
        let answers = join_all(requests).await;
        let ids: Vec<String> =
            answers.iter().filter(|it| it.status == 201).map(Answer::message_id).collect();
        assert!(!ids.is_empty(), "one of them is sent");
        assert!(ids.iter().all(|id| *id == ids[0]), "all are one: {ids:?}");
        let fresh = |it: &&Answer| it.status == 201 && it.header("idempotency-replayed").is_none();
        assert_eq!(answers.iter().filter(fresh).count(), 1);
        for answer in answers.iter().filter(|it| it.status != 201) {
            answer.assert_refused(409, "CONFLICT");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
        let again = server.send_once(server.key(), &body, &key).await;
        assert_eq!(again.message_id(), ids[0]);
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 5);
    assert_eq!(server.wait_for_mails(5).await.len(), 5);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn while_the_first_still_runs_the_second_is_told_to_wait() {
    let limits =
        "{renderer={call_ms=60000,prepare_ms=5000,memory_bytes=67108864,output_bytes=8388608}}";
    let server = Server::start(Launch::dev().with("plugins", "limits", limits));
    let slow = "{% for i in (1..3000000) %}{% assign x = i %}{% endfor %}done";
    let slow = Template { subject: "s", text: Some(slow), ..Template::default() };
    publish(&server, server.dev_output("accountId"), "slow", &slow, &[]);
    let body = with(message("a@example.com"), "template", json!("slow"));
    let send = || server.send_once(server.key(), &body, "k");
    let (one, two) = futures_util::future::join(send(), send()).await;
    let (first, second) = if one.status == 201 { (one, two) } else { (two, one) };
    second.assert_refused(409, "CONFLICT");
    assert_eq!(second.header("retry-after"), Some("1"));
    let again = send().await;
    assert_eq!(again.message_id(), first.message_id());
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

#[tokio::test]
async fn an_answer_is_remembered_across_a_kill_and_a_restart() {
    let mut server = Server::dev();
    let first = server.send_once(server.key(), &message("a@example.com"), "one").await;
    server.kill9();
    server.restart();
    let again = server.send_once(server.key(), &message("a@example.com"), "one").await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    server.restart();
    let other = server.send_once(server.key(), &message("b@example.com"), "one").await;
    other.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    server.wait_for_mails(1).await;
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 1);
}

#[tokio::test]
async fn a_refusal_is_not_remembered() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    for _ in 0..2 {
        let refused = server.send_once(&account.key, &message("a@example.com"), "k").await;
        refused.assert_refused(402, "INSUFFICIENT_BALANCE");
        assert_eq!(refused.header("idempotency-replayed"), None);
    }
    server.grant(&account.id, 1);
    let sent = server.send_once(&account.key, &message("a@example.com"), "k").await;
    sent.message_id();
    assert_eq!(sent.header("idempotency-replayed"), None);

    let faulty = server.send_once(&account.key, &json!({}), "bad").await;
    faulty.assert_refused(400, "BAD_REQUEST");
    server.grant(&account.id, 1);
    server.send_once(&account.key, &message("b@example.com"), "bad").await.message_id();
}

#[tokio::test]
async fn a_batch_is_replayed_as_a_whole_with_its_refusals() {
    let server = Server::dev();
    let batch = json!([message("a@example.com"), message("nobody"), message("b@example.com")]);
    let headers = [("idempotency-key", "batch")];
    let send = || server.post("/messages/send/batch", server.key(), &batch, &headers);
    let first = send().await;
    let again = send().await;
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    for (one, two) in [(0, 0), (2, 2)] {
        assert_eq!(first.body["data"][one], again.body["data"][two]);
    }
    assert_eq!(first.body["data"][1]["errors"], again.body["data"][1]["errors"]);
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 2);
}
