//! A driver for tests and for the fuzzer: it plays a session over arbitrary bytes and asserts what
//! must hold whatever a client sends. Its own answers depend on nothing but what it is asked.

use std::sync::Arc;

use bytes::BytesMut;
use waxwing_mail::address::EmailAddress;

use crate::server::dialog::{
    Accepted, BareNewline, Credentials, Dialog, Dismissal, Mail, Security, SessionSettings, Stage,
    Step,
};
use crate::server::reply::{Answer, Reply};

const MESSAGE_BYTES: usize = 4096;
const RECIPIENTS: usize = 3;
/// Octets of replies that may gather: what is flushed at, and the longest reply after it.
const MAX_OUTPUT: usize = 8 * 1024 + 20 * 512;
const MAX_LINE_OCTETS: usize = 2048;

/// What a session came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// All replies.
    pub output: Vec<u8>,
    /// What the driver was asked, without the requests to write.
    pub steps: Vec<Step>,
}

/// Plays `input`: its first octet says how the session begins and how the bytes are cut up.
///
/// # Panics
/// Something does not hold.
pub fn exercise(input: &[u8]) {
    let Some((how, bytes)) = input.split_first() else { return };
    let security = if how & 1 == 0 { Security::Tls } else { Security::Plain };
    let piece = usize::from(how >> 2) + 1;
    let cut = play(security, bytes.chunks(piece));
    if how & 2 != 0 {
        lose_memory(security, bytes, piece);
    }
    // What stands behind STARTTLS in the same piece is thrown away, so pieces matter there.
    // So they do behind a message with bare line feeds.
    let whole = play(security, [bytes]);
    if security == Security::Tls && !is_cut_off(&cut) && !is_cut_off(&whole) {
        assert_eq!(cut, whole, "pieces of {piece} octets made a difference");
    }
}

/// Whether what stood behind a message with bare line feeds was not read: this depends on the pieces.
#[must_use]
pub fn is_cut_off(played: &Played) -> bool {
    let words = Reply::Distrust.text().as_bytes();
    played.output.windows(words.len()).any(|it| it == words)
}

/// Plays a session from its beginning to the end of the input, checking everything.
///
/// # Panics
/// Something does not hold.
pub fn play<'a>(security: Security, pieces: impl IntoIterator<Item = &'a [u8]>) -> Played {
    let mut player = Player::new(security);
    player.feed(b"");
    for piece in pieces {
        player.feed(piece);
    }
    player.played
}

fn lose_memory(security: Security, bytes: &[u8], piece: usize) {
    let mut player = Player::new(security);
    for piece in bytes.chunks(piece) {
        player.feed(piece);
        player.dialog.out_of_memory();
        assert_eq!(player.dialog.held_bytes(), 0, "what was let go is gone");
    }
    player.dialog.dismiss(Dismissal::Stopping);
    player.dialog.dismiss(Dismissal::Idle);
    assert_eq!(player.dialog.next(&mut player.input), Step::Close);
    player.write();
    assert!(player.dialog.output().is_empty());
}

struct Player {
    dialog: Dialog,
    input: BytesMut,
    authenticated: bool,
    played: Played,
}

impl Player {
    fn new(security: Security) -> Self {
        let settings = SessionSettings {
            hostname: "mail.example.com".to_owned(),
            message_bytes: MESSAGE_BYTES,
            recipients: RECIPIENTS,
            bare_newline: BareNewline::Normalise,
        };
        Self {
            dialog: Dialog::new(Arc::new(settings), security),
            input: BytesMut::new(),
            authenticated: false,
            played: Played::default(),
        }
    }

    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        loop {
            let before = self.input.len();
            let step = self.dialog.next(&mut self.input);
            assert!(self.dialog.held_bytes() <= 2 * MESSAGE_BYTES, "a message is bounded");
            match &step {
                Step::Wait => {
                    assert!(self.input.len() < MAX_LINE_OCTETS, "input is not kept");
                    self.write();
                    return;
                }
                Step::Flush => {
                    self.write();
                    continue;
                }
                Step::Close => {
                    self.write();
                    if self.played.steps.last() != Some(&Step::Close) {
                        self.played.steps.push(step);
                    }
                    return;
                }
                Step::StartTls => {
                    self.write();
                    assert!(self.input.is_empty(), "nothing outlives STARTTLS");
                    self.dialog.secured(&mut self.input);
                    assert_eq!(self.dialog.stage(), Stage::Login);
                }
                Step::Authenticate(credentials) => {
                    assert!(!self.authenticated, "one login");
                    let result = login(credentials);
                    self.authenticated = result.is_ok();
                    self.dialog.authenticated(result);
                }
                Step::Sender(sender) => {
                    assert!(self.authenticated, "no sender before the login");
                    let result = sender.as_ref().map_or(Ok(()), envelope);
                    self.dialog.sender_checked(result);
                }
                Step::Recipient(recipient) => {
                    assert_eq!(self.dialog.stage(), Stage::Transaction);
                    self.dialog.recipient_checked(envelope(recipient));
                }
                Step::Submit(mail) => {
                    assert!(self.authenticated, "no message before the login");
                    check(mail);
                    let accepted = Accepted { ids: Vec::new(), suppressed: 0 };
                    self.dialog.submitted(Ok(accepted));
                    assert_eq!(self.dialog.stage(), Stage::Idle);
                }
            }
            self.played.steps.push(step);
            assert!(self.input.len() <= before, "input is only taken");
        }
    }

    fn write(&mut self) {
        let output = std::mem::take(self.dialog.output());
        assert!(output.len() <= MAX_OUTPUT, "{} octets of replies gathered", output.len());
        check_replies(&output);
        self.played.output.extend(output);
    }
}

fn login(credentials: &Credentials) -> Result<(), Answer> {
    match credentials.key() {
        Some("down") => Err(Reply::LoginOutage.with("UNAVAILABLE the store\r\n250 Ok")),
        Some("key") => Ok(()),
        Some(_) | None => Err(Reply::WrongKey.into()),
    }
}

fn envelope(address: &EmailAddress) -> Result<(), Answer> {
    match address.local() {
        "no" => Err(Reply::Forbidden.with("FORBIDDEN not\0you")),
        "stop" => Err(Reply::Stopping.with("UNAVAILABLE bye")),
        _ => Ok(()),
    }
}

fn check(mail: &Mail) {
    let data = &mail.data;
    assert!((1..=RECIPIENTS).contains(&mail.recipients.len()));
    assert!(data.len() <= MESSAGE_BYTES + 2);
    assert!(data.is_empty() || data.ends_with(b"\r\n"));
    assert!(!data.contains(&0));
    for (at, byte) in data.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|it| data.get(it));
        match byte {
            b'\r' => assert_eq!(data.get(at + 1), Some(&b'\n'), "a bare CR"),
            b'\n' => assert_eq!(before, Some(&b'\r'), "a bare LF"),
            _ => {}
        }
    }
}

/// Whole replies only: known codes, printable ASCII, at most 512 octets a line, one code a reply.
fn check_replies(output: &[u8]) {
    let text = str::from_utf8(output).expect("replies are ASCII");
    let mut under_way = None;
    for line in text.split_inclusive('\n') {
        assert!(line.len() <= 512 && line.ends_with("\r\n"), "{line:?}");
        let line = line.trim_end_matches("\r\n");
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
        let (code, rest) = line.split_at_checked(3).expect("a reply has a code");
        let code: u16 = code.parse().expect("a code is a number");
        assert!(Reply::ALL.iter().any(|it| it.code() == code), "{line:?}");
        assert!(under_way.is_none_or(|it| it == code), "{line:?}");
        under_way = match rest.bytes().next() {
            Some(b'-') => Some(code),
            Some(b' ') => None,
            Some(_) | None => unreachable!("{line:?}"),
        };
    }
    assert_eq!(under_way, None, "a reply is whole");
}
