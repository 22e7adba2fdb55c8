//! A session with the listener for reports, which anybody on the Internet may hold.

use std::sync::Arc;

use bytes::BytesMut;

use crate::relay::bounces::dialog::{Dialog, ListenerSettings, Protection, Step, StoreUnavailable};
use crate::relay::bounces::{Addresses, Mail};

const MESSAGE_BYTES: usize = 1_000;
const MAX_RECIPIENTS: usize = 20;

/// What has come of a session.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    replies: Vec<u8>,
    mails: Vec<Mail>,
}

/// The first octet says whether TLS is offered (bit 0), whether the store is out of order (bit 1), and how long the
/// pieces are that the rest comes in (the upper six bits and one).
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let protection = if first & 1 == 0 { Protection::None } else { Protection::Offered };
    let stored = if first & 2 == 0 { Ok(()) } else { Err(StoreUnavailable) };
    let in_pieces = session(protection, stored, rest.chunks(usize::from(first >> 2) + 1));
    check_replies(&in_pieces.replies);
    in_pieces.mails.iter().for_each(check_mail);
    // What comes before a handshake is forgotten, which depends on how much of it has come.
    if protection == Protection::None {
        assert_eq!(session(protection, stored, std::iter::once(rest)), in_pieces);
    }
}

fn session<'i>(
    protection: Protection,
    stored: Result<(), StoreUnavailable>,
    pieces: impl Iterator<Item = &'i [u8]>,
) -> Outcome {
    let settings = ListenerSettings {
        hostname: "mail.example.com".to_owned(),
        message_bytes: MESSAGE_BYTES,
        addresses: Arc::new(Addresses),
    };
    let mut dialog = Dialog::new(Arc::new(settings), protection);
    let (mut outcome, mut input) = (Outcome::default(), BytesMut::new());
    for piece in std::iter::once(&b""[..]).chain(pieces) {
        input.extend_from_slice(piece);
        loop {
            let step = dialog.next(&mut input);
            outcome.replies.append(dialog.output());
            match step {
                Step::Wait => break,
                Step::Flush => {}
                Step::StartTls => {
                    assert!(input.is_empty(), "nothing outlives STARTTLS");
                    dialog.secured(&mut input);
                    assert!(dialog.is_idle());
                }
                Step::Store(mail) => {
                    outcome.mails.push(*mail);
                    dialog.stored(stored);
                }
                Step::Close => return outcome,
            }
        }
        assert!(input.len() <= 8_192, "{} octets are waiting", input.len());
    }
    outcome
}

fn check_replies(replies: &[u8]) {
    let text = std::str::from_utf8(replies).expect("ASCII");
    assert!(text.ends_with("\r\n"));
    for line in text.split_terminator("\r\n") {
        assert!(line.len() <= 510, "{line}");
        assert!(line.bytes().all(|it| (b' '..=b'~').contains(&it)), "{line:?}");
        let code = line.get(..3).and_then(|it| it.parse::<u16>().ok());
        assert!(code.is_some_and(|it| (200..=599).contains(&it)), "{line}");
        assert!(matches!(line.as_bytes().get(3), Some(b' ' | b'-')), "{line}");
    }
}

fn check_mail(mail: &Mail) {
    assert!((1..=MAX_RECIPIENTS).contains(&mail.recipients.len()));
    for (number, one) in mail.recipients.iter().enumerate() {
        assert!(!mail.recipients[..number].contains(one), "a recipient stands there once");
    }
    assert!(mail.data.len() <= MESSAGE_BYTES);
    let mut before = b' ';
    for octet in &mail.data {
        assert_eq!(*octet == b'\n', before == b'\r', "no CR or LF stands alone");
        before = *octet;
    }
    assert_ne!(before, b'\r');
}
