//! The store holds what a client sent, and 250 is answered only then.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Inbox, connect, envelope, noon};
use crate::inbox::InboxError;
use crate::inbox::smtp::Reach;
use crate::inbox::store::StoredMessage;
use crate::mail::sandbox_path;

/// lettre always ends a message with CRLF, so what is handed to it must not end with one.
const MESSAGE: &str = "From: Ada <ada@sandbox.example>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
                       \r\n.\r\n..\r\n.hidden\r\nafter.\r\n\r\n\u{fc}\u{20ac}\u{1f600}\r\n\r\n\r\nend";

async fn newest(inbox: &Inbox) -> StoredMessage {
    let page = inbox.store.list(1, None, None).await.expect("listed");
    let id = page.rows.first().expect("a message").id;
    inbox.store.get(id).await.expect("read").expect("still there")
}

#[tokio::test]
async fn a_message_arrives_byte_for_byte() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    envelope(&mut client, "bounces@sandbox.example", "grace@example.com").await;
    client.message(MESSAGE.as_bytes()).await.expect("250");

    let stored = newest(&inbox).await;
    assert_eq!(String::from_utf8_lossy(&stored.raw), format!("{MESSAGE}\r\n"));
    assert_eq!(stored.return_path, "bounces@sandbox.example");
    assert_eq!(stored.summary.to, "grace@example.com");
    assert_eq!(stored.summary.from, "ada@sandbox.example");
    assert_eq!(stored.summary.from_name, "Ada");
    assert_eq!(stored.summary.subject, "Grüße");
    assert_eq!(stored.summary.received_at, noon());
}

#[tokio::test]
async fn bytes_that_are_no_utf8_arrive_as_they_are() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    envelope(&mut client, "a@sandbox.example", "grace@example.com").await;
    let body: Vec<u8> = (0..=u8::MAX).filter(|byte| !b"\r\n".contains(byte)).collect();
    client.message(&[b"Subject: bytes\r\n\r\n", body.as_slice()].concat()).await.expect("250");
    assert!(newest(&inbox).await.raw.ends_with(&[body.as_slice(), b"\r\n"].concat()));
}

#[tokio::test]
async fn recipients_of_every_kind_arrive_in_one_session() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    for to in [
        "用户@例え.example",
        "\"odd <@> one\"@example.com",
        "\"100% \\\" sure\"@example.com",
        "o'brien+tag@example.com",
        "a@[192.0.2.1]",
    ] {
        envelope(&mut client, "a@sandbox.example", to).await;
        client.message(b"Subject: hi\r\n\r\nhi").await.expect("250");
        let canonical = to.replace("例え", "xn--r8jz45g");
        assert_eq!(newest(&inbox).await.summary.to, canonical);
    }
}

#[tokio::test]
async fn the_null_sender_arrives_as_nobody() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    envelope(&mut client, sandbox_path::EMPTY, "grace@example.com").await;
    client.message(b"Subject: bounce\r\n\r\nhi").await.expect("250");
    assert_eq!(newest(&inbox).await.return_path, "");
}

#[tokio::test]
async fn each_recipient_of_a_message_gets_a_row() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    client.command("MAIL FROM:<a@sandbox.example>\r\n").await.expect("MAIL");
    client.command("RCPT TO:<forgotten@example.com>\r\n").await.expect("RCPT");
    client.command("RSET\r\n").await.expect("RSET");
    client.command("MAIL FROM:<a@sandbox.example>\r\n").await.expect("MAIL");
    client.command("RCPT TO:<one@example.com>\r\n").await.expect("RCPT");
    client.command("RCPT TO:<two@example.com>\r\n").await.expect("RCPT");
    client.command("DATA\r\n").await.expect("DATA");
    client.message(b"Subject: hi\r\n\r\nhi").await.expect("250");
    let page = inbox.store.list(9, None, None).await.expect("listed");
    let to: Vec<&str> = page.rows.iter().map(|row| row.to.as_str()).collect();
    assert_eq!(to, ["two@example.com", "one@example.com"]);
}

#[tokio::test]
async fn a_closed_store_answers_451_and_the_session_goes_on() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    inbox.store.close().await;
    for _ in 0..2 {
        envelope(&mut client, "a@sandbox.example", "grace@example.com").await;
        let refused = client.message(b"Subject: hi\r\n\r\nhi").await.expect_err("not kept");
        assert_eq!(refused.status().map(u16::from), Some(451));
    }
}

#[tokio::test]
async fn a_message_over_32_mib_answers_552_and_the_session_goes_on() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    envelope(&mut client, "a@sandbox.example", "grace@example.com").await;
    let line = format!("{}\r\n", "x".repeat(998));
    let refused = client.message(line.repeat(33_600).as_bytes()).await.expect_err("too large");
    assert_eq!(refused.status().map(u16::from), Some(552));
    envelope(&mut client, "a@sandbox.example", "grace@example.com").await;
    client.message(b"Subject: small\r\n\r\nhi").await.expect("250");
    assert_eq!(newest(&inbox).await.summary.subject, "small");
}

#[tokio::test]
async fn what_stands_behind_a_bare_line_feed_is_no_command() {
    let inbox = Inbox::open().await;
    let mut client = connect(inbox.listen().await).await;
    envelope(&mut client, "a@sandbox.example", "grace@example.com").await;
    let smuggled = "MAIL FROM:<eve@example.com>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\nhi\r\n";
    let message = format!("Subject: first\r\n\r\nhi\n.\r\n{smuggled}");
    client.message(message.as_bytes()).await.expect("250");
    assert_eq!(inbox.store.count().await.expect("counted"), 1);
}

#[tokio::test]
async fn a_line_that_never_ends_is_cut() {
    let inbox = Inbox::open().await;
    let mut stream = tokio::net::TcpStream::connect(inbox.listen().await).await.expect("connected");
    stream.write_all(&vec![b'a'; 100_000]).await.expect("written");
    let mut said = String::new();
    let _reset = stream.read_to_string(&mut said).await;
    assert!(said.contains("500 5.5.6"), "{said}");
}

#[tokio::test]
async fn a_stop_ends_idle_sessions() {
    let inbox = Inbox::open().await;
    let mut stream = tokio::net::TcpStream::connect(inbox.listen().await).await.expect("connected");
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting).await.expect("a greeting");
    inbox.stop.cancel();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.expect("an orderly end");
    assert!(said.ends_with("421 4.3.2 The server is shutting down\r\n"), "{said}");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    assert!(matches!(Reach::Loopback.check(anywhere), Err(InboxError::NotLoopback(_))));
    assert!(Reach::Anyone.check(anywhere).is_ok());
}
