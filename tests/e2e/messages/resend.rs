//! A message that is sent once more is a new one: its own identifier, price, decision and Message-ID.

use waxwing_tests::{Port, Smtp};

use super::*;

async fn delivered(server: &Server, key: &str, body: &Value) -> String {
    let id = server.send(key, body).await.message_id();
    until_state(server, key, &id, "delivered").await;
    id
}

fn field<'a>(raw: &'a str, name: &str) -> &'a str {
    raw.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim()
}

fn content(raw: &str) -> &str {
    raw.split_once("\r\n\r\n").expect("header and body").1
}

async fn both_mails(server: &Server, to: &str) -> [String; 2] {
    let two = |mails: &[waxwing_tests::Mail]| mails.iter().filter(|it| it.to == to).count() == 2;
    let mails = server.wait_for("both", two).await;
    let mut raws = Vec::new();
    for mail in mails.iter().filter(|it| it.to == to) {
        raws.push(String::from_utf8(server.raw_mail(mail).await).expect("UTF-8"));
    }
    raws.try_into().expect("two")
}

#[tokio::test]
async fn the_same_content_goes_out_under_a_new_name_and_is_paid_for() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let mut body = with(message("ada@example.com"), "tags", json!(["code"]));
    body["metadata"] = json!({"order": "7"});
    body["fromName"] = json!("Tërn, Inc. <support>");
    let first = delivered(&server, &ann.key, &body).await;
    let answer = post(&server, &ann.key, &format!("/{first}/resend")).await;
    let id = answer.message_id();
    assert_eq!(
        (&answer.body["resentFrom"], &answer.body["creditsRemaining"]),
        (&json!(first), &json!(8))
    );
    assert!(answer.header("ratelimit-remaining").is_some());
    assert_ne!(id, first);
    let file = until_state(&server, &ann.key, &id, "delivered").await;
    let old = get(&server, &ann.key, &format!("/{first}")).await;
    for same in
        ["to", "from", "subject", "template", "templateRevision", "tags", "metadata", "credits"]
    {
        assert_eq!(file[same], old[same], "{same}");
    }
    assert_eq!((&file["resentFrom"], &file["keyId"]), (&json!(first), &json!(ann.key_id)));
    assert_eq!(
        file["decisions"].as_array().map(Vec::len),
        Some(2),
        "plan and domain, not rendered"
    );
    let [one, two] = both_mails(&server, "ada@example.com").await;
    assert_eq!(content(&one), content(&two));
    assert_eq!(field(&one, "From:"), field(&two, "From:"));
    assert_eq!(field(&one, "Subject:"), field(&two, "Subject:"));
    assert_ne!(field(&one, "Message-ID:"), field(&two, "Message-ID:"));
    assert_eq!(two.matches("Message-ID:").count(), 1);
    assert_eq!(two.matches("\r\nDate:").count() + usize::from(two.starts_with("Date:")), 1);
    let database = Database::of(&server).await;
    database.assert_sound().await;
    let resent = post(&server, &ann.key, &format!("/{id}/resend")).await.message_id();
    assert_eq!(get(&server, &ann.key, &format!("/{resent}")).await["resentFrom"], id.as_str());
    let by_command = server.cli(&["message", "resend", &first, "--key", &ann.key]);
    assert_eq!(by_command["resentFrom"], first.as_str());
    assert!(server.cli_fails(&["message", "resend", &first]).contains("--key"));
    assert_eq!(server.balance(&ann.id), 6);
}

#[tokio::test]
async fn an_idempotency_key_sends_it_once_more_only_once() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let first = delivered(&server, &ann.key, &message("a@example.com")).await;
    let other = delivered(&server, &ann.key, &message("b@example.com")).await;
    let resend = async |id: &str, once: &str| {
        let request = server.request(Method::POST, &format!("/v1/messages/{id}/resend"));
        let request = request.header("x-api-key", &ann.key).header("idempotency-key", once);
        server.answer(request).await
    };
    let one = resend(&first, "k").await;
    let two = resend(&first, "k").await;
    assert_eq!(one.body, two.body);
    assert_eq!(two.header("idempotency-replayed"), Some("true"));
    resend(&other, "k").await.assert_refused(422, "IDEMPOTENCY_CONFLICT");
    resend(&other, "no spaces").await.assert_faults(&["Idempotency-Key"]);
    assert_ne!(resend(&first, "l").await.message_id(), one.message_id());
    assert_eq!(server.balance(&ann.id), 6);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn it_is_refused_as_any_send_is() {
    let server = Server::dev();
    let ann = holder(&server, 2);
    let first = delivered(&server, &ann.key, &message("a@example.com")).await;
    let resend = async || post(&server, &ann.key, &format!("/{first}/resend")).await;
    drop(server.cli(&["message", "suppress", "--account", &ann.id, "a@example.com"]));
    let suppressed = resend().await;
    assert_eq!((suppressed.status, &suppressed.body["state"]), (201, &json!("suppressed")));
    assert_eq!(suppressed.body["creditsRemaining"], 1);
    drop(server.cli(&["suppression", "remove", "--account", &ann.id, "a@example.com"]));
    assert_eq!(resend().await.status, 201);
    let unpaid = resend().await;
    unpaid.assert_refused(402, "INSUFFICIENT_BALANCE");
    assert_eq!(unpaid.body["required"], 1);
    server.grant(&ann.id, 5);
    drop(server.cli(&["domain", "delete", "--account", &ann.id, "sandbox.test"]));
    resend().await.assert_refused(403, "DOMAIN_NOT_VERIFIED");
    drop(server.cli(&["domain", "add", "--account", &ann.id, "sandbox.test", "--sandbox"]));
    assert_eq!(resend().await.status, 201);
    drop(server.cli(&["account", "deactivate", &ann.id]));
    resend().await.assert_refused(403, "FORBIDDEN");
    assert_eq!(server.balance(&ann.id), 4);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn the_plan_is_asked_about_the_template_that_it_was_made_of() {
    let server = Server::dev();
    let ann = holder(&server, 10);
    let text = crate::fixture::Template { subject: "s", text: Some("t"), ..Default::default() };
    crate::fixture::publish(&server, &ann.id, "premium", &text, &["--required-plan", "pro"]);
    let premium = with(message("a@example.com"), "template", json!("premium"));
    let first = delivered(&server, &ann.key, &premium).await;
    drop(server.cli(&["account", "update", &ann.id, "--plan", "free"]));
    let refused = post(&server, &ann.key, &format!("/{first}/resend")).await;
    refused.assert_refused(403, "RESTRICTED_TEMPLATE");
    assert_eq!(refused.body["template"], "premium");
    drop(server.cli(&["account", "update", &ann.id, "--plan", "pro"]));
    post(&server, &ann.key, &format!("/{first}/resend")).await.message_id();
}

#[tokio::test]
async fn a_message_that_came_whole_is_sent_again_as_it_came() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let letter = "From: Ada <hello@sandbox.test>\r\nTo: bob@example.com\r\nSubject: Whole\r\n\
                  Date: Fri, 15 Jan 2021 08:00:00 +0000\r\nMessage-ID: <own@sandbox.test>\r\n\
                  X-Own: kept\r\n\r\nAs it came.\r\n";
    client.send("hello@sandbox.test", &["bob@example.com"], letter).await.assert(250);
    server.wait_for_mail_to("bob@example.com").await;
    let list = get(&server, server.key(), "?to=bob@example.com").await;
    let first = ids(&list)[0].to_owned();
    until_state(&server, server.key(), &first, "delivered").await;
    let id = post(&server, server.key(), &format!("/{first}/resend")).await.message_id();
    let file = until_state(&server, server.key(), &id, "delivered").await;
    assert_eq!((&file["template"], &file["subject"]), (&Value::Null, &json!("Whole")));
    let [one, two] = both_mails(&server, "bob@example.com").await;
    assert_eq!((content(&one), field(&two, "X-Own:")), (content(&two), "kept"));
    assert!(one.contains("<own@sandbox.test>") && !two.contains("<own@sandbox.test>"), "{two}");
    assert!(!two.contains("2021"), "{two}");
}

#[tokio::test]
async fn a_key_that_only_manages_sends_again_and_a_test_key_no_live_message() {
    let server = Server::dev();
    let ann = holder(&server, 2);
    let first = delivered(&server, &ann.key, &message("a@example.com")).await;
    let (_, manages) = server.make_key(&ann.id, &["--scope", "admin"]);
    post(&server, &manages, &format!("/{first}/resend")).await.message_id();
    assert_eq!(server.balance(&ann.id), 0);
    let (_, tests) = server.make_key(&ann.id, &["--scope", "admin", "--test"]);
    post(&server, &tests, &format!("/{first}/resend")).await.assert_refused(404, "NOT_FOUND");
    let (_, sends) = server.make_key(&ann.id, &["--scope", "send"]);
    post(&server, &sends, &format!("/{first}/resend")).await.assert_refused(403, "FORBIDDEN");
}
