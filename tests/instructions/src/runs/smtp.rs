//! SMTP receive: a session with one message of 2 KiB, from the greeting to QUIT, without a socket.

use std::sync::Arc;

use bytes::BytesMut;
use waxwing_smtp::server::dialog::{
    Accepted, BareNewline, Dialog, Security, SessionSettings, Step,
};

use crate::rounds::Rounds;

/// What a TCP segment brings.
const SEGMENT: usize = 1_448;

pub fn receive(rounds: &mut Rounds) {
    let terms = Arc::new(SessionSettings {
        hostname: "mail.example.com".to_owned(),
        message_bytes: 25 << 20,
        recipients: 100,
        bare_newline: BareNewline::Normalise,
    });
    let content = message();
    let talk: [&[u8]; 6] = [
        b"EHLO client.example.com\r\n",
        // User and password: "waxwing" and "key".
        b"AUTH PLAIN AHdheHdpbmcAa2V5\r\n",
        b"MAIL FROM:<shop@example.com> SIZE=2048\r\n",
        b"RCPT TO:<ada@example.net>\r\n",
        b"DATA\r\n",
        content.as_bytes(),
    ];
    rounds.run(
        "smtp-receive",
        || Dialog::new(Arc::clone(&terms), Security::Tls),
        |dialog| session(dialog, &talk),
    );
}

/// Answers each step as a server that lets everything pass.
fn session(mut dialog: Dialog, talk: &[&[u8]]) -> Vec<u8> {
    let mut input = BytesMut::new();
    let mut received = Vec::new();
    for segment in talk.iter().flat_map(|said| said.chunks(SEGMENT)).chain([&b"QUIT\r\n"[..]]) {
        input.extend_from_slice(segment);
        loop {
            match dialog.next(&mut input) {
                Step::Authenticate(_) => dialog.authenticated(Ok(())),
                Step::Sender(_) => dialog.sender_checked(Ok(())),
                Step::Recipient(_) => dialog.recipient_checked(Ok(())),
                Step::Submit(mail) => {
                    received = mail.data;
                    let ids = vec!["msg_01KD0000000000000000000000".to_owned()];
                    dialog.submitted(Ok(Accepted { ids, suppressed: 0 }));
                }
                Step::Wait | Step::Flush | Step::Close => break,
                Step::StartTls => unreachable!("the session began with TLS"),
            }
        }
        dialog.output().clear();
    }
    assert!(received.len() >= 2_000, "the message arrived");
    received
}

fn message() -> String {
    let header = "Date: Wed, 01 Jul 2026 00:00:00 +0000\r\nFrom: Shop <shop@example.com>\r\n\
         To: ada@example.net\r\nSubject: Your order\r\nMessage-ID: <1@example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n";
    let line = "Your order has left our house. A line may begin with a dot, too.\r\n\
         .and then it is stuffed\r\n";
    let mut message = header.to_owned();
    while message.len() < 2_048 {
        message.push_str(line);
    }
    message.replace("\r\n.", "\r\n..") + ".\r\n"
}
