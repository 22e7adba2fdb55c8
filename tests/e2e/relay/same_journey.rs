//! HTTP and SMTP, side by side: the same template and data give the same message, row, price and
//! refusal.

use serde_json::{Value, json};
use waxwing_tests::{Account, Port, Server, Smtp};

use super::{FROM, filled, logged_in};
use crate::fixture::{Database, Template, message, publish, with};

/// A message as it arrived, without what is its own: Date, Message-ID, and the boundaries made of it.
async fn arrived(server: &Server, to: &str) -> String {
    let mail = server.wait_for_mail_to(to).await;
    let raw = String::from_utf8(server.raw_mail(&mail).await).expect("ASCII");
    let id = field(&raw, "Message-ID: <").split('@').next().expect("a part").to_owned();
    let date = field(&raw, "Date: ").to_owned();
    let boundary = field(&raw, "Content-Type: multipart/mixed; boundary=\"=_m").to_owned();
    let boundary = boundary.trim_end_matches('"');
    raw.replace(&id, "ID").replace(&date, "DATE").replace(to, "TO").replace(boundary, "BOUNDARY")
}

fn field<'a>(raw: &'a str, name: &str) -> &'a str {
    let line = raw.lines().find_map(|line| line.strip_prefix(name));
    assert!(line.is_some(), "{name} in {raw}");
    line.unwrap_or_default()
}

/// A row without what is its own.
fn row(server: &Server, account: &str, to: &str) -> Value {
    let rows = server.messages(account);
    let row = rows.into_iter().find(|row| row["to"] == to).expect("a row");
    let mut row = server.message(row["id"].as_str().expect("an id"));
    let own = ["id", "to", "channel", "createdAt", "updatedAt", "nextAttemptAt", "state", "reason"];
    for own in own.into_iter().chain(["size", "events", "attempts"]) {
        row[own] = Value::Null;
    }
    for decision in row["decisions"].as_array_mut().expect("decisions") {
        decision["micros"] = Value::Null;
        decision["sampled"] = Value::Null;
    }
    row
}

#[tokio::test]
async fn a_template_gives_the_same_message_row_and_price_through_both_listeners() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let data = json!({"code": "Ü 481 902", "product_name": "Tërn"});
    let body = json!({
        "to": "http@example.com", "type": "EMAIL", "template": "verification-code", "data": data,
        "from": FROM, "fromName": "Tërn & Co", "replyTo": "help@example.com", "tags": ["a", "b"],
        "metadata": {"order": "7"},
        "attachments": [
            {"filename": "a.txt", "contentType": "text/plain", "content": "aGVsbG8="},
        ],
    });
    let before = server.balance(account);
    server.send(server.key(), &body).await.message_id();
    let over_http = before - server.balance(account);

    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let message = format!(
        "From: {FROM}\r\nReply-To: help@example.com\r\nX-Waxwing-Template: verification-code\r\n\
         X-Waxwing-Data: =?utf-8?q?{{\"code\":_\"=C3=9C_481_902\"}}?=\r\n\
         X-Waxwing-From-Name: =?utf-8?q?T=C3=ABrn?= & Co\r\nX-Waxwing-Tag: a\r\n\
         X-Waxwing-Tag: b\r\nX-Waxwing-Metadata-order: 7\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=x\r\n\r\n\
         --x\r\nContent-Type: application/json\r\n\r\n{{\"product_name\": \"T\\u00ebrn\"}}\r\n\
         --x\r\nContent-Type: text/plain; name=a.txt\r\n\
         Content-Disposition: attachment; filename=a.txt\r\n\
         Content-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n--x--\r\n"
    );
    let before = server.balance(account);
    let sent = client.send(FROM, &["smtp@example.com"], &message).await;
    assert!(!sent.message_id().is_empty());
    assert_eq!(before - server.balance(account), over_http, "the price");
    assert_eq!(
        arrived(&server, "smtp@example.com").await,
        arrived(&server, "http@example.com").await
    );
    let rows = ["smtp@example.com", "http@example.com"].map(|to| row(&server, account, to));
    assert_eq!(rows[0], rows[1]);
    Database::of(&server).await.assert_sound().await;
}

/// What HTTP says and what SMTP says of the same send.
async fn both(server: &Server, account: &Account, body: &Value, code: &str, reply: &str) {
    let over_http = server.send(&account.key, body).await;
    assert_eq!(over_http.body["code"], code, "{}", over_http.body);
    let mut client = logged_in(server, &account.key).await;
    let slug = body["template"].as_str().expect("a slug");
    let from = body["from"].as_str().unwrap_or(FROM);
    let message = filled(slug, &body["data"]).replace(FROM, from);
    let refused = client.send(FROM, &["ada@example.com"], &message).await;
    refused.assert_begins(reply);
    assert!(server.messages(&account.id).is_empty(), "{code}: nothing is stored");
    Database::of(server).await.assert_sound().await;
}

#[tokio::test]
async fn every_refusal_is_the_same_through_both_listeners() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    let body = message("ada@example.com");
    let broke = "451 4.7.0 INSUFFICIENT_BALANCE need 1, have 0";
    both(&server, &account, &body, "INSUFFICIENT_BALANCE", broke).await;
    server.grant(&account.id, 10);

    let foreign = with(body.clone(), "from", json!("me@elsewhere.example"));
    let reply = "550 5.7.1 DOMAIN_NOT_VERIFIED elsewhere.example 0%";
    both(&server, &account, &foreign, "DOMAIN_NOT_VERIFIED", reply).await;

    let unknown = with(body.clone(), "template", json!("no-such"));
    let reply = "554 5.6.0 BAD_REQUEST X-Waxwing-Template: the account has no published template";
    both(&server, &account, &unknown, "BAD_REQUEST", reply).await;

    let missing = with(body.clone(), "data", json!({}));
    let reply = "554 5.6.0 BAD_REQUEST data.code: the template requires this variable";
    both(&server, &account, &missing, "BAD_REQUEST", reply).await;

    let paid = Template { subject: "Hi", text: Some("Hi"), ..Template::default() };
    publish(&server, &account.id, "paid-only", &paid, &["--required-plan", "pro"]);
    let restricted = with(body.clone(), "template", json!("paid-only"));
    let reply = "550 5.7.1 RESTRICTED_TEMPLATE";
    both(&server, &account, &restricted, "RESTRICTED_TEMPLATE", reply).await;

    let (_, key) = server.make_key(&account.id, &["--template", "verification-code"]);
    let narrow = Account { key, ..account.clone() };
    both(&server, &narrow, &restricted, "FORBIDDEN", "550 5.7.1 FORBIDDEN").await;
}

#[tokio::test]
async fn a_key_is_refused_at_auth_and_all_that_is_wrong_with_it_sounds_the_same() {
    let server = Server::dev();
    let account = server.open_account("free", 1);
    let (id, gone) = server.make_key(&account.id, &[]);
    drop(server.cli(&["key", "deactivate", &id]));
    let unknown = gone.replace("wx_live_", "wx_test_");
    for key in [gone.as_str(), &unknown, "no key at all"] {
        let mut client = Smtp::secured(&server, Port::StartTls).await;
        let refused = client.log_in(key).await;
        refused.assert_begins("535 5.7.8");
        assert!(!refused.text.contains(key), "the key is not echoed");
        client.say(&format!("MAIL FROM:<{FROM}>")).await.assert_begins("530 5.7.0");
    }
}

#[tokio::test]
async fn a_key_that_is_switched_off_in_a_session_sends_nothing_more() {
    let server = Server::dev();
    let account = server.open_account("free", 9);
    let (id, key) = server.make_key(&account.id, &[]);
    let mut client = logged_in(&server, &key).await;
    let message = super::whole("One", "Hi");
    drop(client.send(FROM, &["ada@example.com"], &message).await.message_id());
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    client.say("RCPT TO:<ada@example.com>").await.assert(250);
    drop(server.cli(&["key", "deactivate", &id]));
    client.say("DATA").await.assert(354);
    client.content(&message).await.assert_begins("451 4.7.0 UNAUTHORIZED");
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert_begins("451 4.7.0 UNAUTHORIZED");
    assert_eq!(server.messages(&account.id).len(), 1);
}

#[tokio::test]
async fn test_and_live_keys_share_no_idempotency_key_restricted_ones_no_receipt() {
    let server = Server::dev();
    let live = server.open_account("pro", 9);
    let (_, test) = server.make_key(&live.id, &["--test"]);
    let message = format!("X-Waxwing-Idempotency-Key: k1\r\n{}", super::whole("Hi", "one"));
    let send = async |key: &str| {
        let mut client = logged_in(&server, key).await;
        client.send(FROM, &["ada@example.com"], &message).await
    };
    let of_test = send(&test).await.message_id();
    let of_live = send(&live.key).await.message_id();
    assert_ne!(of_test, of_live, "the live message is sent");
    assert_eq!(send(&test).await.message_id(), of_test);
    let (_, narrow) = server.make_key(&live.id, &["--template", "verification-code"]);
    send(&narrow).await.assert_begins("550 5.7.1 FORBIDDEN");
    assert_eq!(server.messages(&live.id).len(), 2);
}

#[tokio::test]
async fn an_idempotency_key_makes_one_message_of_two_transactions() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let message =
        |body: &str| format!("X-Waxwing-Idempotency-Key: k1\r\n{}", super::whole("Hi", body));
    let first = client.send(FROM, &["ada@example.com"], &message("one")).await.message_id();
    let again = client.send(FROM, &["ada@example.com"], &message("one")).await.message_id();
    assert_eq!(first, again);
    let other = client.send(FROM, &["ada@example.com"], &message("two")).await;
    other.assert_begins("554 5.6.0 IDEMPOTENCY_CONFLICT");
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 1);

    let send = async |client: &mut Smtp, recipients: &[&str]| {
        let message = format!("X-Waxwing-Idempotency-Key: k2\r\n{}", super::whole("Hi", "one"));
        client.send(FROM, recipients, &message).await.message_id()
    };
    let first = send(&mut client, &["ada@example.com", "bob@example.com"]).await;
    let again = send(&mut client, &["bob@example.com", "ada@example.com"]).await;
    assert_eq!(first, again, "a retry may name its recipients in another order");
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 3);
}
