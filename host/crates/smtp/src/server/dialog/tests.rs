//! Whole sessions, as they look on the wire, with a driver that answers as it is told.

mod auth;
mod bdat;
mod corpus;
mod data;
mod dismissal;
mod ehlo;
mod garbage;
mod help;
mod mail;
mod noop;
mod pieces;
mod pipelining;
mod quit;
mod rcpt;
mod refusals;
mod rset;
mod smuggling;
mod starttls;
mod vrfy;

use std::fmt::Write;
use std::sync::Arc;

use bytes::BytesMut;
use waxwing_mail::address::EmailAddress;

use crate::server::dialog::{Accepted, BareNewline, Dialog, Mail, Security, SessionSettings, Step};
use crate::server::reply::{Answer, Reply};

/// `NUL key NUL key` in base64.
const KEY_PLAIN: &str = "AGtleQBrZXk=";

/// A client, a driver and a transcript of what they say: `C:`, `S:`, and `D:` for the driver.
struct Session {
    dialog: Dialog,
    input: BytesMut,
    transcript: String,
    mails: Vec<Mail>,
    login: Result<(), Answer>,
    sender: Result<(), Answer>,
    recipient: fn(&EmailAddress) -> Result<(), Answer>,
    message: Result<Accepted, Answer>,
}

fn settings() -> SessionSettings {
    SessionSettings {
        hostname: "mail.example.com".to_owned(),
        message_bytes: 1000,
        recipients: 3,
        bare_newline: BareNewline::Normalise,
    }
}

impl Session {
    fn new(settings: SessionSettings, security: Security) -> Self {
        let mut session = Self {
            dialog: Dialog::new(Arc::new(settings), security),
            input: BytesMut::new(),
            transcript: String::new(),
            mails: Vec::new(),
            login: Ok(()),
            sender: Ok(()),
            recipient: |_| Ok(()),
            message: Ok(accepted(1)),
        };
        session.drive();
        session
    }

    fn plain() -> Self {
        Self::new(settings(), Security::Plain)
    }

    fn tls() -> Self {
        Self::new(settings(), Security::Tls)
    }

    /// After a login, which does not stand in the transcript.
    fn logged_in() -> Self {
        Self::logged_in_under(settings())
    }

    fn logged_in_under(settings: SessionSettings) -> Self {
        let mut session = Self::new(settings, Security::Tls);
        session.says(&["EHLO client.example", &format!("AUTH PLAIN {KEY_PLAIN}")]);
        session.transcript.clear();
        session
    }

    /// After MAIL and RCPT, which do not stand in the transcript.
    fn with_envelope() -> Self {
        let mut session = Self::logged_in();
        session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
        session.transcript.clear();
        session
    }

    /// The client sends lines, each when the one before is answered.
    fn says(&mut self, lines: &[&str]) -> &mut Self {
        for line in lines {
            writeln!(self.transcript, "C: {line}").expect("a string takes everything");
            self.input.extend_from_slice(line.as_bytes());
            self.input.extend_from_slice(b"\r\n");
            self.drive();
        }
        self
    }

    /// The client sends these octets at once.
    fn sends(&mut self, octets: &[u8]) -> &mut Self {
        writeln!(self.transcript, "C: {}", octets.escape_ascii())
            .expect("a string takes everything");
        self.input.extend_from_slice(octets);
        self.drive();
        self
    }

    /// The client sends octets that do not stand in the transcript.
    fn sends_quietly(&mut self, octets: &[u8]) -> &mut Self {
        self.input.extend_from_slice(octets);
        self.drive();
        self
    }

    /// The replies to what was sent since the last call.
    fn replies(&mut self) -> String {
        std::mem::take(&mut self.transcript)
            .lines()
            .filter_map(|line| line.strip_prefix("S: "))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn drive(&mut self) {
        loop {
            let step = self.dialog.next(&mut self.input);
            match step {
                Step::Wait => return self.write(),
                Step::Flush => self.write(),
                Step::Close => {
                    self.write();
                    self.note("close");
                    return;
                }
                Step::StartTls => {
                    self.write();
                    self.note("handshake");
                    self.dialog.secured(&mut self.input);
                }
                Step::Authenticate(credentials) => {
                    let key = credentials.key().unwrap_or("that differs").to_owned();
                    self.note(&format!("login with key {key}"));
                    let result = match (&self.login, key.as_str()) {
                        (Ok(()), "key") => Ok(()),
                        (Ok(()), _) => Err(Reply::WrongKey.into()),
                        (Err(refusal), _) => Err(refusal.clone()),
                    };
                    self.dialog.authenticated(result);
                }
                Step::Sender(sender) => {
                    let text = sender.map_or_else(|| "nobody".to_owned(), |it| it.to_string());
                    self.note(&format!("sender {text}"));
                    self.dialog.sender_checked(self.sender.clone());
                }
                Step::Recipient(recipient) => {
                    self.note(&format!("recipient {recipient}"));
                    self.dialog.recipient_checked((self.recipient)(&recipient));
                }
                Step::Submit(mail) => {
                    self.note(&format!("message {}", mail.data.escape_ascii()));
                    self.mails.push(*mail);
                    self.dialog.submitted(self.message.clone());
                }
            }
        }
    }

    /// What was said so far stands before what the driver does next.
    fn note(&mut self, text: &str) {
        self.write();
        writeln!(self.transcript, "D: {text}").expect("a string takes everything");
    }

    fn write(&mut self) {
        let output = std::mem::take(self.dialog.output());
        let output = String::from_utf8(output).expect("replies are ASCII");
        for line in output.split_inclusive("\r\n") {
            let line = line.strip_suffix("\r\n").expect("a reply ends in CRLF");
            writeln!(self.transcript, "S: {line}").expect("a string takes everything");
        }
    }
}

fn accepted(count: usize) -> Accepted {
    let id = "msg_01JD0000000000000000000000".to_owned();
    Accepted { ids: vec![id; count], suppressed: 0 }
}
