//! What old scripts and printers send, and a next hop would refuse: put right at submission, or refused there
//! with words.

use std::process::Command;

use mail_parser::MessageParser;
use serde_json::json;
use waxwing_tests::{Port, Server, Smtp};
use waxwing_tools::Need;

use super::FROM;

async fn sent(server: &Server, message: &str) -> Vec<u8> {
    let mut client = Smtp::authenticated(server, Port::Implicit).await;
    drop(client.send(FROM, &["ada@example.com"], message).await.message_id());
    let mail = server.wait_for_mail_to("ada@example.com").await;
    server.raw_mail(&mail).await
}

#[tokio::test]
async fn a_raw_subject_and_name_reach_the_recipient_as_encoded_words() {
    let server = Server::dev();
    let from = format!("From: Jürgen Müller <{FROM}>");
    let raw = sent(&server, &format!("{from}\r\nSubject: Grüße aus Köln\r\n\r\nGrüße\r\n")).await;
    let message = MessageParser::default().parse(&raw).expect("a message");
    assert_eq!(message.subject(), Some("Grüße aus Köln"));
    assert_eq!(message.from().and_then(|it| it.first()?.name()), Some("Jürgen Müller"));
    let header = raw.windows(4).position(|it| it == b"\r\n\r\n").expect("a header");
    assert!(raw[..header].is_ascii());
}

#[tokio::test]
async fn what_cannot_be_encoded_is_refused_at_the_end_of_data() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::Implicit).await;
    for (header, reply) in [
        ("To: jürgen@example.com".to_owned(), "554 5.6.0 BAD_REQUEST To: has non-ASCII characters"),
        (
            "DKIM-Signature: v=1; h=subject; b=x\r\nSubject: Grüße".to_owned(),
            "554 5.6.0 BAD_REQUEST Subject: is not ASCII, and the message's DKIM-Signature covers it",
        ),
        (
            format!("Subject: {}", "x".repeat(999)),
            "554 5.6.0 BAD_REQUEST Subject: has a line over 998 octets; fold it",
        ),
    ] {
        let message = format!("From: {FROM}\r\n{header}\r\n\r\nHi\r\n");
        client.send(FROM, &["ada@example.com"], &message).await.assert_begins(reply);
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 0);
}

#[tokio::test]
async fn a_text_with_a_line_of_many_octets_arrives_encoded() {
    let server = Server::dev();
    let html = format!("<p>{}</p>", "Grüße ".repeat(1_000));
    let head = format!("From: {FROM}\r\nContent-Type: text/html; charset=utf-8\r\n");
    let raw = sent(&server, &format!("{head}\r\n{html}\r\n")).await;
    assert!(raw.split(|it| *it == b'\n').all(|line| line.len() <= 999));
    let message = MessageParser::default().parse(&raw).expect("a message");
    assert_eq!(message.body_html(0).expect("a text").trim_end(), html);
}

#[tokio::test]
async fn clients_that_end_lines_with_line_feeds_send() {
    let unproven = "bare line feeds of Python's smtplib and of curl";
    if !Need::Python.is_met(unproven) || !Need::Curl.is_met(unproven) {
        return;
    }
    let server = Server::dev();
    let (host, port) = server.smtp_tls().rsplit_once(':').expect("a port");
    let letter =
        |to: &str, dots: &str| format!("From: {FROM}\nTo: {to}\nSubject: x\n\nfirst\n{dots}last\n");
    let script = "import smtplib, ssl, sys\n\
                  _, host, port, ca, key, sender, to, text = sys.argv\n\
                  context = ssl.create_default_context(cafile=ca)\n\
                  context.check_hostname = False\n\
                  s = smtplib.SMTP_SSL(host, int(port), context=context)\n\
                  s.login(key, key)\n\
                  s.sendmail(sender, [to], text.encode())\n";
    let ca = server.ca_file();
    let ca = ca.to_str().expect("a path of UTF-8");
    let text = letter("python@example.com", ".\n..two\n");
    let python = Command::new("python3")
        .args(["-c", script, host, port, ca, server.key(), FROM, "python@example.com", &text])
        .output()
        .expect("python3 runs");
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let file = server.scratch("letter.eml");
    std::fs::write(&file, letter("curl@example.com", ".two\n")).expect("written");
    let curl = Command::new("curl")
        .args(["--disable", "--silent", "--show-error", "--ssl-reqd", "--noproxy", "*"])
        .args(["--url", &format!("smtps://localhost:{port}"), "--cacert", ca])
        .args(["--user", &format!("{0}:{0}", server.key()), "--mail-from", FROM])
        .args(["--mail-rcpt", "curl@example.com", "-T"])
        .arg(&file)
        .output()
        .expect("curl runs");
    assert!(curl.status.success(), "{}", String::from_utf8_lossy(&curl.stderr));
    for (to, body) in [
        // Both end what does not end in CRLF with a CRLF of their own.
        ("python@example.com", "\r\n\r\nfirst\r\n.\r\n..two\r\nlast\r\n\r\n"),
        ("curl@example.com", "\r\n\r\nfirst\r\n.two\r\nlast\r\n\r\n"),
    ] {
        let raw = server.raw_mail(&server.wait_for_mail_to(to).await).await;
        let raw = String::from_utf8(raw).expect("UTF-8");
        assert!(raw.ends_with(body), "{to}: {raw}");
    }
}

#[tokio::test]
async fn a_message_to_suppressed_recipients_says_so_in_its_250() {
    let server = Server::dev();
    let body = json!({"address": "gone@example.com"});
    let added = server.post("/v1/suppressions", server.key(), &body, &[]).await;
    assert!(matches!(added.status, 200 | 201), "{}", added.body);
    let mut client = Smtp::authenticated(&server, Port::Implicit).await;
    let message = super::whole("Hi", "Hi");
    let reply = client.send(FROM, &["gone@example.com"], &message).await;
    reply.assert(250);
    assert!(
        reply.text.contains("; nothing is sent: on the account's suppression list"),
        "{reply:?}"
    );
    let reply = client.send(FROM, &["gone@example.com", "ada@example.com"], &message).await;
    assert!(reply.text.ends_with("; 1 of 2 suppressed and not sent"), "{reply:?}");
}
