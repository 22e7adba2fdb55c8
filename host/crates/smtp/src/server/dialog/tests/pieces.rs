//! However a session is cut into pieces, what comes of it is the same.

use proptest::prelude::*;

use super::Session;
use crate::server::dialog::Security;
use crate::server::exercise::{is_cut_off, play};

const LOGIN: &[u8] = b"EHLO a\r\nAUTH PLAIN AGtleQBrZXk=\r\n";

/// Commands, parts of commands, content and noise, in any order.
fn part() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"EHLO client.example\r\n".to_vec()),
        Just(b"AUTH LOGIN\r\n".to_vec()),
        Just(b"a2V5\r\n".to_vec()),
        Just(b"MAIL FROM:<ada@example.com> SIZE=10\r\n".to_vec()),
        Just(b"RCPT TO:<bob@example.net>\r\n".to_vec()),
        Just(b"RCPT TO:<no@example.net>\r\n".to_vec()),
        Just(b"DATA\r\n".to_vec()),
        Just(b"BDAT 5\r\n".to_vec()),
        Just(b"BDAT 7 LAST\r\n".to_vec()),
        Just(b"RSET\r\n".to_vec()),
        Just(b".\r\n".to_vec()),
        Just(b"\r\n.\r\n".to_vec()),
        Just(vec![b'a'; 900]),
        "[a-z.\r\n\0]{0,12}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn cut<'a>(bytes: &'a [u8], sizes: &'a [usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        match rest.split_at_checked(*size) {
            Some((piece, after)) => {
                pieces.push(piece);
                rest = after;
            }
            None => break,
        }
    }
    pieces.push(rest);
    pieces
}

/// What a client makes of a message to send it by DATA.
fn stuff(message: &str) -> Vec<u8> {
    let lines = message.split_inclusive("\r\n");
    let stuffed =
        lines.map(|it| if it.starts_with('.') { format!(".{it}") } else { it.to_owned() });
    format!("{}.\r\n", stuffed.collect::<String>()).into_bytes()
}

proptest! {
    #[test]
    fn the_cuts_make_no_difference(
        parts in prop::collection::vec(part(), 0..30),
        sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let bytes = [LOGIN, &parts.concat()].concat();
        let whole = play(Security::Tls, [bytes.as_slice()]);
        let in_pieces = play(Security::Tls, cut(&bytes, &sizes));
        if !is_cut_off(&in_pieces) && !is_cut_off(&whole) {
            prop_assert_eq!(in_pieces, whole);
        }
    }

    #[test]
    fn nothing_breaks_an_invariant_before_the_handshake(
        parts in prop::collection::vec(prop_oneof![part(), Just(b"STARTTLS\r\n".to_vec())], 0..30),
        sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let bytes = parts.concat();
        let _played = play(Security::Plain, cut(&bytes, &sizes));
    }

    #[test]
    fn a_message_that_is_stuffed_comes_out_as_it_was(
        lines in prop::collection::vec("[.a ]{0,4}|\\PC{0,8}", 0..12),
        sizes in prop::collection::vec(1_usize..9, 1..4),
    ) {
        let message: String = lines.iter().flat_map(|line| [line, "\r\n"]).collect();
        prop_assume!(!message.contains('\0'));
        let mut session = Session::with_envelope();
        session.says(&["DATA"]);
        for piece in cut(&stuff(&message), &sizes) {
            session.sends_quietly(piece);
        }
        let received = session.mails.first().map(|mail| mail.data.as_slice());
        prop_assert_eq!(received, Some(message.as_bytes()));
    }

    #[test]
    fn a_bare_cr_or_lf_is_never_submitted(
        before in "[a.\r\n]{0,12}",
        bare in "a\r|a\n",
        after in "([a.][a.\r\n]{0,12})?",
    ) {
        // What follows is cut off where the message is over: behind that are commands.
        let content = format!("{before}{bare}{after}");
        prop_assume!(!content.contains("\r\n.\r\n") && !content.starts_with(".\r\n"));
        let mut session = Session::with_envelope();
        session.says(&["DATA"]).sends_quietly(content.as_bytes());
        session.sends_quietly(b"\r\n.\r\n");
        for mail in &session.mails {
            let text = String::from_utf8_lossy(&mail.data).replace("\r\n", "");
            prop_assert!(!text.contains(['\r', '\n']), "{}", text);
        }
    }
}
