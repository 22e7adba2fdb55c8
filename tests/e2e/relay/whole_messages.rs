//! Messages that come whole: relayed as they are, one row for each recipient over one body, all of
//! them or none.

use waxwing_tests::{Port, Server, Smtp};

use super::{FROM, logged_in, whole};
use crate::fixture::Database;

#[tokio::test]
async fn every_byte_that_may_stay_stays_and_every_recipient_has_a_row() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::Implicit).await;
    let rest = "From: =?utf-8?q?T=C3=ABrn?=\r\n <hello@sandbox.test>\r\nto:Ada <ada@example.com>\r\n\
                X-Odd:  two  blanks \r\n\tand a fold\r\nSubject: =?utf-8?q?=C3=9Cn=C3=AF?=\r\n\
                Date: Sat, 1 Jan 2000 00:00:00 +0000\r\nMessage-ID: <mine@example.org>\r\n\r\n.dot\r\n..two\r\n \r\n\r\ntail ü \r\n\r\n";
    let message = format!("bcc: secret@example.com\r\n{rest}");
    let to: Vec<String> = (0..100).map(|n| format!("n{n}@example.com")).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let before = server.balance(server.dev_output("accountId"));
    let id = client.send(FROM, &to, &message).await.message_id();
    assert_eq!(before - server.balance(server.dev_output("accountId")), 100);
    let mails = server.wait_for_mails(100).await;
    for mail in [&mails[0], &mails[99]] {
        let raw = String::from_utf8(server.raw_mail(mail).await).expect("UTF-8");
        let added = raw.strip_suffix(rest).unwrap_or_else(|| panic!("{raw}"));
        assert!(added.starts_with("Received: from client.example\r\n by "), "{added}");
        assert!(!raw.contains("secret@example.com"));
    }
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM messages").await, 100);
    assert_eq!(database.number("SELECT count(*) FROM bodies").await, 1);
    assert_eq!(database.messages("SELECT message_id FROM bodies").await, [id]);
    database.assert_sound().await;
}

#[tokio::test]
async fn a_message_that_the_balance_does_not_cover_goes_to_nobody() {
    let server = Server::dev();
    let account = server.open_account("free", 2);
    let mut client = logged_in(&server, &account.key).await;
    let to = ["a@example.com", "b@example.com", "c@example.com"];
    let refused = client.send(FROM, &to, &whole("Hi", "Hi")).await;
    refused.assert_begins("451 4.7.0 INSUFFICIENT_BALANCE need 3, have 2");
    assert!(server.messages(&account.id).is_empty());
    assert_eq!(server.balance(&account.id), 2);
    drop(client.send(FROM, &to[..2], &whole("Hi", "Hi")).await.message_id());
    assert_eq!(server.balance(&account.id), 0);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn who_wrote_a_message_and_where_it_bounces_to_are_at_verified_domains() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let foreign = client.say("MAIL FROM:<me@elsewhere.example>").await;
    foreign.assert_begins("550 5.7.1 DOMAIN_NOT_VERIFIED elsewhere.example 0% (missing ");
    for from in [
        "From: me@elsewhere.example",
        "From: hello@sandbox.test, me@elsewhere.example",
        "From: hello@sandbox.test\r\nSender: me@elsewhere.example",
    ] {
        let message = format!("{from}\r\nSubject: Hi\r\n\r\nHi\r\n");
        let refused = client.send(FROM, &["ada@example.com"], &message).await;
        refused.assert_begins("550 5.7.1 DOMAIN_NOT_VERIFIED elsewhere.example 0%");
    }
    for (header, reply) in [
        ("Subject: no author", "554 5.6.0 BAD_REQUEST From: is required"),
        ("From: hello@sandbox.test\r\nFROM: me@elsewhere.example", "554 5.6.0 BAD_REQUEST From"),
        ("From: hello@sandbox.test\r\nX-Waxwing-Nonsense: 1", "554 5.6.0 BAD_REQUEST X-Waxwing-"),
        ("no header at all", "554 5.6.0 BAD_REQUEST"),
    ] {
        let message = format!("{header}\r\n\r\nHi\r\n");
        client.send(FROM, &["ada@example.com"], &message).await.assert_begins(reply);
    }
    // The empty envelope sender is everybody's.
    drop(client.send("", &["ada@example.com"], &whole("Auto-reply", "Hi")).await.message_id());
    server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 1);
}

#[tokio::test]
async fn chunks_and_data_give_the_same_message() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::Implicit).await;
    let message = whole("Hi", ".dot\r\nand more");
    drop(client.send(FROM, &["data@example.com"], &message).await.message_id());
    client.say(&format!("MAIL FROM:<{FROM}> BODY=8BITMIME")).await.assert(250);
    client.say("RCPT TO:<bdat@example.com>").await.assert(250);
    let (first, second) = message.split_at(message.len() / 2);
    client.write(format!("BDAT {}\r\n{first}", first.len()).as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert(250);
    let last = format!("BDAT {} LAST\r\n{second}", second.len());
    client.write(last.as_bytes()).await.expect("written");
    drop(client.reply().await.expect("a reply").message_id());
    let mut bodies = Vec::new();
    for to in ["data@example.com", "bdat@example.com"] {
        let mail = server.wait_for_mail_to(to).await;
        let raw = String::from_utf8(server.raw_mail(&mail).await).expect("UTF-8");
        bodies.push(raw.split_once("From: ").expect("a From").1.to_owned());
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn a_lack_of_credits_can_be_made_permanent() {
    let launch = waxwing_tests::Launch::dev().with("smtp", "insufficient_balance", "permanent");
    let server = Server::start(launch);
    let account = server.open_account("free", 0);
    let mut client = logged_in(&server, &account.key).await;
    let refused = client.send(FROM, &["ada@example.com"], &whole("Hi", "Hi")).await;
    refused.assert_begins("550 5.7.1 INSUFFICIENT_BALANCE need 1, have 0");
}
