//! Clients that we did not write use the relay: swaks, Python's smtplib, nodemailer, msmtp, curl,
//! lettre, and Postfix as a relaying client; each over both ports. What they are told to send
//! arrives octet for octet, once for each recipient. A client that is missing fails in CI.

mod arrived;
mod client;
mod curl;
mod letters;
mod lettre;
mod msmtp;
mod nodemailer;
mod postfix;
mod python;
mod run;
mod swaks;

use std::collections::BTreeMap;

use mail_parser::{MessageParser, MimeHeaders};
use waxwing_tests::{Mail, Server};

use arrived::assert_as_told;
use client::{Client, Composition, Endpoint, Letter, Port, Utf8};
use curl::CURL;
use lettre::LETTRE;
use msmtp::MSMTP;
use nodemailer::NODEMAILER;
use postfix::POSTFIX;
use python::PYTHON;
use run::Said;
use swaks::SWAKS;

#[tokio::test]
async fn letters_of_swaks_arrive_as_they_were() {
    letters_arrive(&SWAKS).await;
}

#[tokio::test]
async fn letters_of_python_arrive_as_they_were() {
    letters_arrive(&PYTHON).await;
}

#[tokio::test]
async fn letters_of_nodemailer_arrive_as_they_were() {
    letters_arrive(&NODEMAILER).await;
}

#[tokio::test]
async fn letters_of_msmtp_arrive_as_they_were() {
    letters_arrive(&MSMTP).await;
}

#[tokio::test]
async fn letters_of_curl_arrive_as_they_were() {
    letters_arrive(&CURL).await;
}

#[tokio::test]
async fn letters_of_lettre_arrive_as_they_were() {
    letters_arrive(&LETTRE).await;
}

#[tokio::test]
async fn letters_that_postfix_relays_arrive_as_they_were() {
    letters_arrive(&POSTFIX).await;
}

#[tokio::test]
async fn every_client_tells_of_a_wrong_key() {
    let server = Server::dev();
    for client in ALL.into_iter().filter(|it| it.is_here()) {
        for port in Port::ALL {
            let endpoint = Endpoint::of(&server, port).with_wrong_key();
            let said = (client.send)(&endpoint, &letters::bare(server.dev_output("from"), port));
            let told = said.text.contains("535") && said.text.contains(client.denied);
            assert!(!said.ok && told, "{} over {port:?}: {}", client.name, said.text);
        }
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 0, "nothing was accepted");
}

#[tokio::test]
async fn every_client_refuses_a_certificate_that_it_does_not_know() {
    let server = Server::dev();
    for client in ALL.into_iter().filter(|it| it.is_here()) {
        for port in Port::ALL {
            let endpoint = Endpoint::of(&server, port).of_a_stranger();
            let said = (client.send)(&endpoint, &letters::bare(server.dev_output("from"), port));
            let told = said.text.contains(client.distrusts);
            assert!(!said.ok && told, "{} over {port:?}: {}", client.name, said.text);
        }
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 0, "nothing was accepted");
}

#[tokio::test]
async fn every_client_shows_why_a_letter_was_refused() {
    let server = Server::dev();
    for client in ALL.into_iter().filter(|it| it.is_here()) {
        for port in Port::ALL {
            let letter = letters::bare("hello@elsewhere.example", port);
            let said = (client.send)(&Endpoint::of(&server, port), &letter);
            let why = "5.7.1 DOMAIN_NOT_VERIFIED elsewhere.example";
            let told = said.text.contains("550") && said.text.contains(why);
            assert!(!said.ok && told, "{} over {port:?}: {}", client.name, said.text);
        }
    }
    assert_eq!(server.messages(server.dev_output("accountId")).len(), 0, "nothing was accepted");
}

#[tokio::test]
async fn an_application_sends_a_hundred_letters_over_kept_connections() {
    let clients = ALL.into_iter().filter_map(|client| Some((client, client.send_each?)));
    for (client, send_each) in clients.filter(|(client, _)| client.is_here()) {
        let server = Server::dev();
        let mut recipients = Vec::new();
        for port in Port::ALL {
            let letter = letters::hundred(server.dev_output("from"), port);
            let said = send_each(&Endpoint::of(&server, port), &letter);
            arrive(&server, client, &letter, &said).await;
            recipients.extend(letter.to);
        }
        assert_one_each(&server, recipients).await;
    }
}

#[tokio::test]
async fn what_clients_make_of_a_text_and_a_file_is_read_again() {
    let server = Server::dev();
    let clients = ALL.into_iter().filter_map(|client| Some((client, client.compose?)));
    for (client, compose) in clients.filter(|(client, _)| client.is_here()) {
        for port in Port::ALL {
            let composition = composition(&server, client, port);
            let said = compose(&Endpoint::of(&server, port), &composition);
            assert!(said.ok, "{} over {port:?}: {}", client.name, said.text);
            let mail = server.wait_for_mail_to(&composition.to).await;
            assert_read(&composition, &server.raw_mail(&mail).await);
        }
    }
}

const ALL: [&Client; 7] = [&SWAKS, &PYTHON, &NODEMAILER, &MSMTP, &CURL, &LETTRE, &POSTFIX];

/// Sends all letters over both ports, and looks at what arrives and what is kept of them.
async fn letters_arrive(client: &Client) {
    if !client.is_here() {
        return;
    }
    let server = Server::dev();
    let from = server.dev_output("from");
    let mut recipients = Vec::new();
    for port in Port::ALL {
        let endpoint = Endpoint::of(&server, port);
        for write in [letters::bare, letters::odd, letters::large, letters::hundred] {
            let letter = write(from, port);
            arrive(&server, client, &letter, &(client.send)(&endpoint, &letter)).await;
            recipients.extend(letter.to);
        }
        let letter = letters::utf8(from, port);
        let said = (client.send)(&endpoint, &letter);
        match client.utf8 {
            Utf8::Spoken => {
                arrive(&server, client, &letter, &said).await;
                recipients.push(as_delivered(&letter.to[0]));
            }
            Utf8::Unknown => {
                assert!(!said.ok && said.text.contains("553 5.6.7"), "{}", said.text);
            }
        }
    }
    assert_one_each(&server, recipients).await;
}

/// The client says that it has sent a letter, and it is in the inbox of each recipient.
async fn arrive(server: &Server, client: &Client, letter: &Letter, said: &Said) {
    let what = format!("{}, to {}", client.name, letter.to[0]);
    assert!(said.ok, "{what}: {}", said.text);
    let to: Vec<String> = letter.to.iter().map(|to| as_delivered(to)).collect();
    let is_ours = |mail: &&Mail| to.contains(&mail.to);
    let all = |mails: &[Mail]| mails.iter().filter(is_ours).count() >= to.len();
    let mails = server.wait_for(&what, all).await;
    for mail in mails.iter().filter(is_ours) {
        assert_eq!(mail.from, letter.from, "{what}");
        assert_as_told(&letter.raw, &server.raw_mail(mail).await, client.hops);
    }
}

/// The account has accepted one message for each of these recipients, and each was delivered once.
async fn assert_one_each(server: &Server, mut recipients: Vec<String>) {
    let rows = server.messages(server.dev_output("accountId"));
    let mut kept: Vec<&str> = rows.iter().filter_map(|row| row["to"].as_str()).collect();
    let mut delivered: Vec<String> = server.inbox().await.into_iter().map(|it| it.to).collect();
    kept.sort_unstable();
    delivered.sort_unstable();
    recipients.sort_unstable();
    assert_eq!(kept, recipients);
    assert_eq!(delivered, recipients);
}

/// The domain in its ASCII form, as it is kept and handed on.
fn as_delivered(to: &str) -> String {
    to.replace("@例え.example", "@xn--r8jz45g.example")
}

fn composition(server: &Server, client: &Client, port: Port) -> Composition {
    let name = client.name.rsplit(' ').next().unwrap_or_default();
    let from = server.dev_output("from").to_owned();
    Composition {
        from,
        to: format!("{name}.{}@example.com", port.as_str()),
        subject: "Invoice 4711".to_owned(),
        text: "First.\n.\n..\nGrüße 🐦".to_owned(),
        filename: "invoice.pdf".to_owned(),
        file: (0..=255).cycle().take(100_000).collect(),
    }
}

fn assert_read(composition: &Composition, raw: &[u8]) {
    let message = MessageParser::default().parse(raw).expect("a message");
    let all = String::from_utf8_lossy(raw);
    assert_eq!(message.subject(), Some(composition.subject.as_str()), "{all}");
    let text = message.body_text(0).expect("a text").replace("\r\n", "\n");
    assert_eq!(text.trim_end(), composition.text, "{all}");
    let files: BTreeMap<_, _> =
        message.attachments().map(|it| (it.attachment_name(), it.contents())).collect();
    let wanted = BTreeMap::from([(Some(composition.filename.as_str()), &composition.file[..])]);
    assert!(files == wanted, "{all}");
    let address = message.from().and_then(|it| it.first()).and_then(|it| it.address());
    assert_eq!(address, Some(composition.from.as_str()));
    for once in ["Date", "Message-ID", "From", "Received"] {
        let count = message.headers().iter().filter(|it| it.name().eq_ignore_ascii_case(once));
        assert_eq!(count.count(), 1, "{once}: {all}");
    }
    assert!(message.bcc().is_none(), "{all}");
}
