//! Every refusal of the contract: its status, its code, its members. The one shape of all of them
//! is checked by the harness on every answer that any test gets.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Launch, Server};

use crate::fixture::{Template, message, publish, with};

#[tokio::test]
async fn a_bad_request_names_every_fault_at_once() {
    let server = Server::dev();
    let key = server.key();
    let body = json!({
        "to": "no address", "type": "SMS", "template": "receipt", "fromName": "a\r\nBcc: b@c.de",
        "data": {"items": []},
        "replyTo": 7, "tags": ["ok", 1], "metadata": {"n": 1}, "sendAt": "tomorrow",
        "attachments": [{"filename": "a", "content": "***"}],
        "headers": {"Bcc": "b@example.com"},
    });
    let answer = server.send(key, &body).await;
    answer.assert_faults(&[
        "to",
        "type",
        "fromName",
        "replyTo",
        "tags[1]",
        "metadata.n",
        "sendAt",
        "attachments[0].contentType",
        "attachments[0].content",
        "headers.Bcc",
        "data.receipt_number",
        "data.total",
    ]);
    server.send(key, &json!({})).await.assert_faults(&["to", "type", "template", "data"]);
    server.send(key, &json!([])).await.assert_faults(&[""]);
}

#[tokio::test]
async fn each_missing_variable_is_named_and_so_are_those_within_lists() {
    let server = Server::dev();
    let receipt = with(message("ada@example.com"), "template", json!("receipt"));
    let none = server.send(server.key(), &with(receipt.clone(), "data", json!({}))).await;
    none.assert_faults(&["data.items", "data.receipt_number", "data.total"]);
    let faulty = json!({"receipt_number": "R", "total": "1", "items": [{"quantity": 1}]});
    let answer = server.send(server.key(), &with(receipt, "data", faulty)).await;
    answer.assert_refused(400, "BAD_REQUEST");
    let fields = answer.faulty_fields();
    for variable in ["description", "amount"] {
        let named = fields
            .iter()
            .any(|field| field.starts_with("data.items[") && field.ends_with(variable));
        assert!(named, "{variable} in {fields:?}");
    }
}

#[tokio::test]
async fn an_unknown_template_is_a_bad_request_that_names_the_field() {
    let server = Server::dev();
    let unknown = with(message("ada@example.com"), "template", json!("no-such-template"));
    server.send(server.key(), &unknown).await.assert_faults(&["template"]);
}

#[tokio::test]
async fn all_that_is_wrong_with_a_key_has_one_text() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let (off_id, off) = server.make_key(&account, &[]);
    assert_eq!(server.cli(&["key", "deactivate", &off_id])["state"], "deactivated");
    let (_, expired) = server.make_key(&account, &["--expires", "2020-01-01T00:00:00Z"]);
    let good = server.key();
    let (stem, _) = good.split_at(good.len() - 32);
    let other_secret = format!("{stem}{}", "0".repeat(32));
    let other_mode = good.replace("wx_live_", "wx_test_");
    let unknown = format!("wx_live_00000000_{}", "0".repeat(32));

    let missing = server.request(Method::POST, "/messages/send").json(&message("a@example.com"));
    let mut answers = vec![server.answer(missing).await];
    for key in [&off, &expired, &other_secret, &other_mode, &unknown, "", "rubbish"] {
        answers.push(server.send(key, &message("a@example.com")).await);
    }
    for answer in &answers {
        answer.assert_refused(401, "UNAUTHORIZED");
        assert_eq!(answer.body["message"], answers[0].body["message"]);
        assert_eq!(answer.header("www-authenticate"), answers[0].header("www-authenticate"));
        let members = |body: &serde_json::Value| body.as_object().map(|it| it.keys().count());
        assert_eq!(members(&answer.body), members(&answers[0].body), "{}", answer.body);
        for key in [&off, &expired, &other_secret, &unknown] {
            assert!(!answer.body.to_string().contains(key.as_str()), "no key is echoed");
        }
    }
}

#[tokio::test]
async fn an_insufficient_balance_says_what_is_needed_and_what_is_there() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    let answer = server.send(&account.key, &message("ada@example.com")).await;
    answer.assert_refused(402, "INSUFFICIENT_BALANCE");
    assert_eq!(answer.body["required"], 1);
    assert_eq!(answer.body["creditsRemaining"], 0);
    assert!(server.messages(&account.id).is_empty());
}

#[tokio::test]
async fn a_domain_that_is_not_verified_says_how_far_it_is_and_what_is_missing() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let unproven = "unproven.example.com";
    let added = server.cli(&["domain", "add", "--account", account, unproven]);
    assert_eq!(added["verified"], false, "{added}");
    for domain in [unproven, "stranger.example.com"] {
        let from = json!(format!("hello@{domain}"));
        let answer = server.send(server.key(), &with(message("a@example.com"), "from", from)).await;
        answer.assert_refused(403, "DOMAIN_NOT_VERIFIED");
        assert_eq!(answer.body["domain"], domain);
        assert!(answer.body["progress"].as_u64().is_some_and(|it| it <= 99), "{}", answer.body);
        assert!(answer.body["missing"].as_array().is_some_and(|it| !it.is_empty()));
    }
}

#[tokio::test]
async fn a_restricted_template_says_which_plan_would_do() {
    let server = Server::dev();
    let account = server.open_account("free", 1);
    let text = Template { subject: "s", text: Some("t"), ..Template::default() };
    for (slug, plan) in [("for-pro", "pro"), ("for-payers", "paid")] {
        publish(&server, &account.id, slug, &text, &["--required-plan", plan]);
        let restricted = with(message("a@example.com"), "template", json!(slug));
        let answer = server.send(&account.key, &restricted).await;
        answer.assert_refused(403, "RESTRICTED_TEMPLATE");
        assert_eq!(answer.body["template"], slug);
        assert_eq!(answer.body["plan"], "free");
        assert_eq!(answer.body["requiredPlan"], plan);
        let decision = answer.body["decisionId"].as_str().expect("the decision is recorded");
        assert!(decision.starts_with("dec_"), "{decision}");
    }
}

#[tokio::test]
async fn a_key_may_do_only_what_it_is_for() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let to = message("ada@example.com");
    for limits in [
        &["--ip", "192.0.2.1"][..],
        &["--ip", "2001:db8::/32", "--ip", "10.0.0.0/8"],
        &["--template", "welcome"],
        &["--domain", "other.test"],
        &["--scope", "admin"],
        &["--scope", "operator"],
    ] {
        let (_, key) = server.make_key(&account, limits);
        server.send(&key, &to).await.assert_refused(403, "FORBIDDEN");
    }
    let all =
        ["--ip", "127.0.0.0/8", "--template", "verification-code", "--domain", "Sandbox.Test"];
    let (_, key) = server.make_key(&account, &all);
    server.send(&key, &to).await.message_id();
    let shouted = with(to, "from", json!("Me@SANDBOX.test"));
    server.send(&key, &shouted).await.message_id();
    assert_eq!(server.messages(&account).len(), 2);
}

#[tokio::test]
async fn paths_methods_and_types_have_their_own_refusals() {
    let server = Server::dev();
    server.get("/nothing/here").await.assert_refused(404, "NOT_FOUND");
    server.get("/messages/send/").await.assert_refused(404, "NOT_FOUND");
    for (method, path) in [
        (Method::GET, "/messages/send"),
        (Method::PUT, "/messages/send"),
        (Method::DELETE, "/messages/send/batch"),
        (Method::POST, "/healthz"),
    ] {
        let answer = server.answer(server.request(method, path)).await;
        answer.assert_refused(405, "METHOD_NOT_ALLOWED");
        let allowed = answer.header("allow").unwrap_or_default();
        let right = if path == "/healthz" { "GET" } else { "POST" };
        assert!(allowed.contains(right), "RFC 9110 section 15.5.6: Allow is `{allowed}`");
    }
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("json")]
    {
        let mut request = server.request(Method::POST, "/messages/send");
        request =
            request.header("x-api-key", server.key()).body(message("a@b.example").to_string());
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let answer = server.answer(request).await;
        answer.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    for kind in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.x+json"] {
        let request = server.request(Method::POST, "/messages/send");
        let request = request.header("x-api-key", server.key()).header("content-type", kind);
        let request = request.body(message("a@example.com").to_string());
        server.answer(request).await.message_id();
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_one_below_it_is_read() {
    let server = Server::start(Launch::dev().with("limits", "body_bytes", "5000"));
    let body = |size: usize| {
        with(message("a@example.com"), "data", json!({"code": "1", "x": "y".repeat(size)}))
    };
    server.send(server.key(), &body(4_000)).await.message_id();
    let answer = server.send(server.key(), &body(6_000)).await;
    answer.assert_refused(413, "PAYLOAD_TOO_LARGE");
    assert!(answer.body["message"].as_str().is_some_and(|it| it.contains("5000 bytes")));
}

#[tokio::test]
async fn a_key_that_sends_too_fast_is_told_when_to_go_on() {
    let launch = Launch::dev().with("limits", "sends_per_second", "1");
    let server = Server::start(launch.with("limits", "send_burst", "3"));
    let (_, other) = server.make_key(server.dev_output("accountId"), &[]);
    let mut remaining = Vec::new();
    let refused = loop {
        let answer = server.send(server.key(), &message("a@example.com")).await;
        assert_eq!(answer.header("ratelimit-limit"), Some("3"));
        assert!(answer.header("ratelimit-reset").is_some());
        remaining.push(answer.header("ratelimit-remaining").map(str::to_owned));
        if answer.status != 201 {
            break answer;
        }
        assert!(remaining.len() < 50, "the limit is reached");
    };
    refused.assert_refused(429, "RATE_LIMITED");
    assert_eq!(remaining.first(), Some(&Some("2".to_owned())));
    assert_eq!(remaining.last(), Some(&Some("0".to_owned())));
    let stored = server.messages(server.dev_output("accountId")).len();
    assert_eq!(stored, remaining.len() - 1, "what was refused is not stored");

    // The account has a bucket of its own: another of its keys does not help.
    let note = message("a@example.com");
    let answers = join_all((0..12).map(|_| server.send(&other, &note))).await;
    assert!(answers.iter().any(|answer| answer.status == 429), "so many at once are too many");
}

#[tokio::test]
async fn an_address_that_guesses_keys_is_not_listened_to() {
    let server = Server::dev();
    let mut statuses = Vec::new();
    for n in 0..30 {
        let guess = format!("wx_live_{n:08}_{}", "0".repeat(32));
        let answer = server.send(&guess, &message("a@example.com")).await;
        statuses.push(answer.status);
    }
    let first = statuses.iter().position(|status| *status == 429).expect("guessing ends");
    assert!((10..30).contains(&first), "some mistakes are forgiven: {statuses:?}");
    assert!(statuses.iter().take(first).all(|status| *status == 401), "{statuses:?}");
}
