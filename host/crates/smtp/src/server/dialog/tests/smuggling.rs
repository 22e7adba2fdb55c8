//! Ends of a message that some servers see where others do not: none of them ends one here.

use std::fmt::Write;

use super::Session;

const SMUGGLED: &str = "MAIL FROM:<eve@example.com>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n\
                        smuggled\r\n.\r\n";

/// What stands between two messages in place of CRLF.CRLF.
const ENDS: [&str; 23] = [
    "\r\r\n.\r\n",
    "\n.\n",
    "\n.\r\n",
    "\r\n.\n",
    "\r.\r",
    "\r.\r\n",
    "\r\n.\r",
    "\r.\n",
    "\n.\r",
    "\n\n.\r\n",
    "\n\n.\n\n",
    "\r\r.\r\r",
    "\r\n\n.\r\n",
    "\n\r.\r\n",
    "\r\r\n.\n",
    "\n\r\n.\n",
    "\r\n.\r\r\n",
    "\r\n.\r.\r\n",
    "\r\n\0.\r\n",
    "\r\n.\0\r\n",
    "\r\0\n.\r\n",
    "\n.\r\n.\n",
    "\r\n..\r\n\n",
];

#[test]
fn no_other_end_than_crlf_dot_crlf_ends_a_message() {
    let mut transcript = String::new();
    for end in ENDS {
        let mut session = Session::with_envelope();
        session.says(&["DATA"]);
        let input = format!("Subject: a\r\n\r\nfirst{end}{SMUGGLED}");
        session.transcript.clear();
        session.sends_quietly(input.as_bytes());
        assert_one_or_none(&session, end);
        writeln!(transcript, "{end:?}: {}", session.replies()).expect("a string takes everything");
    }
    insta::assert_snapshot!(transcript);
}

/// What was smuggled in is content of the one message, or nothing is taken at all.
#[track_caller]
fn assert_one_or_none(session: &Session, end: &str) {
    let senders = session.mails.iter().map(|mail| mail.sender.as_ref().map(ToString::to_string));
    let senders: Vec<_> = senders.flatten().collect();
    assert!(senders.is_empty() || senders == ["ada@example.com"], "{end:?}: {senders:?}");
    for mail in &session.mails {
        assert!(mail.data.ends_with(b"smuggled\r\n"), "{end:?} ended the message");
    }
}

#[test]
fn they_make_no_difference_in_any_pieces() {
    for end in ENDS {
        let input = format!("Subject: a\r\n\r\nfirst{end}{SMUGGLED}");
        let replies: Vec<String> = (1..8)
            .map(|size| {
                let mut session = Session::with_envelope();
                session.says(&["DATA"]);
                for piece in input.as_bytes().chunks(size) {
                    session.sends_quietly(piece);
                }
                assert_one_or_none(&session, end);
                session.replies()
            })
            .collect();
        assert!(replies.windows(2).all(|pair| pair.first() == pair.last()), "{end:?}");
    }
}
