//! Templates that mean harm: each is stopped at a limit that the answer names, nothing is charged,
//! and the next good send is right.

use serde_json::json;
use waxwing_tests::{Launch, Server};

use crate::fixture::{Database, Template, message, publish, publish_harmful, with};

/// Publishes templates, sends each three times, and asserts that each is refused for good, with the limit.
async fn assert_stopped(server: &Server, harmful: &[(&str, &str, &str)]) {
    let account = server.dev_output("accountId").to_owned();
    for (slug, text, _) in harmful {
        publish_harmful(server, &account, slug, text).await;
    }
    let balance = server.balance(&account);
    for _ in 0..3 {
        for (slug, _, limit) in harmful {
            let body = with(message("a@example.com"), "template", json!(slug));
            let answer = server.send(server.key(), &body).await;
            answer.assert_refused(500, "INTERNAL");
            let text = answer.body["message"].as_str().expect("a text");
            assert!(text.contains(limit), "{slug}: the limit {limit} is named: {text}");
        }
    }
    assert_eq!(server.balance(&account), balance);
    assert!(server.messages(&account).is_empty());

    let ready = server.get("/readyz").await;
    assert_eq!(ready.status, 200);
    let data = json!({"code": "007 <b>"});
    server.send(server.key(), &with(message("good@example.com"), "data", data)).await.message_id();
    let mail = server.wait_for_mail_to("good@example.com").await;
    assert!(mail.subject.starts_with("007 <b> is your"), "{}", mail.subject);
    Database::of(server).await.assert_sound().await;
}

#[tokio::test]
async fn a_template_that_loops_for_ever_is_stopped() {
    let server = Server::dev();
    let endless = "{% for i in (1..9000000000000) %}{% assign x = i %}{% endfor %}";
    let nested = "{% for a in (1..99999) %}{% for b in (1..99999) %}{% endfor %}{% endfor %}";
    let harmful = [("endless", endless, "call_ms"), ("nested", nested, "call_ms")];
    assert_stopped(&server, &harmful).await;
}

#[tokio::test]
async fn a_template_that_allocates_without_end_is_stopped() {
    // Time enough to come to the limit of memory, on any machine.
    let limits =
        "{renderer={call_ms=20000,prepare_ms=5000,memory_bytes=67108864,output_bytes=8388608}}";
    let server = Server::start(Launch::dev().with("plugins", "limits", limits));
    let doubling = "{% assign x = 'aaaaaaaaaaaaaaaa' %}\
                    {% for i in (1..40) %}{% assign x = x | append: x %}{% endfor %}";
    assert_stopped(&server, &[("doubling", doubling, "memory_bytes")]).await;
}

#[tokio::test]
async fn a_template_that_writes_without_end_is_stopped() {
    let limits =
        "{renderer={call_ms=20000,prepare_ms=5000,memory_bytes=67108864,output_bytes=8388608}}";
    let server = Server::start(Launch::dev().with("plugins", "limits", limits));
    let long = "{% for i in (1..2000000) %}0123456789{% endfor %}";
    assert_stopped(&server, &[("long", long, "_bytes")]).await;
}

#[tokio::test]
async fn a_harmful_template_does_not_hold_up_the_others() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let endless = "{% for i in (1..9000000000000) %}{% endfor %}";
    publish_harmful(&server, &account, "endless", endless).await;
    let harmful = with(message("a@example.com"), "template", json!("endless"));
    let good = message("good@example.com");
    let harm = futures_util::future::join_all((0..8).map(|_| server.send(server.key(), &harmful)));
    let work = futures_util::future::join_all((0..20).map(|_| server.send(server.key(), &good)));
    let (harm, work) = futures_util::future::join(harm, work).await;
    assert!(harm.iter().all(|answer| answer.status == 500));
    assert!(work.iter().all(|answer| answer.status == 201));
    server.wait_for_mails(20).await;
}

#[tokio::test]
async fn data_can_not_make_a_good_template_harmful() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let counted = "{% for i in (1..n) %}{{ i }}{% endfor %}";
    let counted = Template { subject: "s", text: Some(counted), ..Template::default() };
    publish(&server, &account, "counted", &counted, &[]);
    let send = async |n: serde_json::Value| {
        let body = with(message("a@example.com"), "template", json!("counted"));
        server.send(server.key(), &with(body, "data", json!({"n": n}))).await
    };
    send(json!(3)).await.message_id();
    let answer = send(json!(9_000_000_000_000_i64)).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    send(json!(4)).await.message_id();
    server.wait_for_mails(2).await;
}
