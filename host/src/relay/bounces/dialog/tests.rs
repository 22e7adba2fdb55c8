//! Whole sessions with the listener for reports, as they look on the wire.

use std::sync::Arc;

use bytes::BytesMut;
use proptest::prelude::*;

use super::command::MAX_RECIPIENTS;
use super::*;
use crate::mail::verp::Verp;
use crate::relay::bounces::Addresses;

/// The client's part of a session, a driver, and what the listener says.
struct Session {
    dialog: Dialog,
    input: BytesMut,
    mails: Vec<Mail>,
    handshakes: usize,
    written: Result<(), StoreUnavailable>,
    replies: String,
    closed: bool,
}

fn verp() -> Verp {
    Verp::new(&[7; 32])
}

fn return_path() -> String {
    let id = "msg_01JD0000000000000000000000".parse().expect("an identifier");
    let host = "bounce.customer.example".parse().expect("a name");
    verp().address(id, &host).expect("there is room").to_string()
}

impl Session {
    fn new(protection: Protection) -> Self {
        let feedback = vec!["fbl@mail.example.com".parse().expect("valid")];
        let settings = ListenerSettings {
            hostname: "mail.example.com".to_owned(),
            message_bytes: 1_000,
            addresses: Arc::new(Addresses {
                verp: verp(),
                feedback,
                hostname: "mail.example.com".to_owned(),
                return_path_host: "bounce.mail.example.com".to_owned(),
            }),
        };
        let mut session = Self {
            dialog: Dialog::new(Arc::new(settings), protection),
            input: BytesMut::new(),
            mails: Vec::new(),
            handshakes: 0,
            written: Ok(()),
            replies: String::new(),
            closed: false,
        };
        session.sends(b"");
        session
    }

    fn greeted() -> Self {
        let mut session = Self::new(Protection::None);
        session.sends(b"EHLO mx.recipient.example\r\n");
        session.replies.clear();
        session
    }

    fn with_envelope() -> Self {
        let mut session = Self::greeted();
        session
            .sends(format!("MAIL FROM:<>\r\nRCPT TO:<{}>\r\nDATA\r\n", return_path()).as_bytes());
        session.replies.clear();
        session
    }

    fn sends(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        loop {
            let step = self.dialog.next(&mut self.input);
            let output = std::mem::take(self.dialog.output());
            self.replies.push_str(str::from_utf8(&output).expect("replies are ASCII"));
            match step {
                Step::Wait => return,
                Step::Flush => {}
                Step::Close => {
                    self.closed = true;
                    return;
                }
                Step::StartTls => {
                    self.handshakes += 1;
                    self.dialog.secured(&mut self.input);
                }
                Step::Store(mail) => {
                    self.mails.push(*mail);
                    self.dialog.stored(self.written);
                }
            }
        }
    }

    /// The replies to some lines: codes and enhanced codes only.
    fn says(&mut self, lines: &[&str]) -> Vec<String> {
        self.replies.clear();
        for line in lines {
            self.sends(format!("{line}\r\n").as_bytes());
        }
        let codes = self.replies.lines().map(|line| {
            let mut words = line.split(' ');
            let code = words.next().unwrap_or_default();
            let is_code = |it: &&str| it.split('.').all(|it| it.parse::<u16>().is_ok());
            let enhanced = words.next().filter(|it| it.contains('.') && is_code(it));
            enhanced.map_or_else(|| code.to_owned(), |it| format!("{code} {it}"))
        });
        codes.collect()
    }
}

#[test]
fn a_report_is_taken_for_a_return_path_in_any_case_at_any_domain() {
    let upper = return_path().to_ascii_uppercase();
    let (local, _) = upper.split_once('@').expect("an address");
    let mut session = Session::greeted();
    let replies = session.says(&[
        "MAIL FROM:<> SIZE=500",
        &format!("RCPT TO:<{local}@anywhere.example>"),
        "DATA",
        "Subject: failure notice",
        "",
        "..stuffed",
        ".",
        "QUIT",
    ]);
    assert_eq!(replies, ["250 2.1.0", "250 2.1.5", "354", "250 2.0.0", "221 2.0.0"]);
    let [mail] = session.mails.as_slice() else { unreachable!("one mail") };
    let id = "msg_01JD0000000000000000000000".parse().expect("an identifier");
    assert_eq!((mail.sender.as_ref(), &mail.recipients), (None, &vec![Recipient::ReturnPath(id)]));
    assert_eq!(mail.data, b"Subject: failure notice\r\n\r\n.stuffed\r\n");
}

#[test]
fn nothing_goes_through_it_to_anybody_else() {
    let mut session = Session::greeted();
    session.says(&["MAIL FROM:<eve@example.org>"]);
    let forged = return_path().replacen("b-01jd", "b-01je", 1);
    for address in [
        "bob@example.org",
        "bob@mail.example.com",
        "fbl@elsewhere.example",
        "b-01jd0000000000000000000000@bounce.customer.example",
        &forged,
        "bob%example.org@mail.example.com",
        "\"bob@example.org\"@mail.example.com",
        "@mail.example.com:bob@example.org",
        "postmaster%example.org@mail.example.com",
        "postmaster@example.org",
    ] {
        let replies = session.says(&[&format!("RCPT TO:<{address}>")]);
        assert_eq!(replies, ["550 5.1.1"], "{address}");
    }
    assert_eq!(session.says(&["RCPT TO:<>"]), ["501 5.1.3"]);
    assert_eq!(session.says(&["DATA"]), ["554 5.5.1"]);
    assert!(session.mails.is_empty());
}

#[test]
fn postmaster_and_feedback_addresses_are_known() {
    for address in ["postmaster", "Postmaster@bounce.customer.example", "FBL@Mail.Example.com"] {
        let mut session = Session::greeted();
        let replies = session.says(&[
            "MAIL FROM:<feedback@provider.example>",
            &format!("RCPT TO:<{address}>"),
            "DATA",
            "x",
            ".",
        ]);
        assert_eq!(replies, ["250 2.1.0", "250 2.1.5", "354", "250 2.0.0"], "{address}");
        assert_eq!(session.mails.len(), 1);
    }
}

#[test]
fn what_cannot_be_written_down_comes_again() {
    let mut session = Session::with_envelope();
    session.written = Err(StoreUnavailable);
    assert_eq!(session.says(&["x", "."]), ["451 4.3.0"]);
    assert_eq!(session.says(&["MAIL FROM:<>"]), ["250 2.1.0"], "the session goes on");
}

#[test]
fn ends_that_servers_read_differently_are_refused_and_end_the_session() {
    let smuggled = "MAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\nsmuggled\r\n.\r\n";
    for end in
        ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\r\r\n.\r\n", "\r\n.\r\r\n"]
    {
        for size in [1, 3, 1_000] {
            let mut session = Session::with_envelope();
            let input = format!("Subject: a\r\n\r\nfirst{end}{smuggled}");
            for piece in input.as_bytes().chunks(size) {
                session.sends(piece);
            }
            assert!(session.mails.is_empty() && session.closed, "{end:?}");
            assert!(
                session.replies.starts_with("550 5.6.11 ") && session.replies.contains("421 4.7.0")
            );
        }
    }
}

#[test]
fn long_lines_are_taken_and_large_messages_are_not() {
    let mut session = Session::with_envelope();
    assert_eq!(session.says(&[&"a".repeat(990), "."]), ["250 2.0.0"]);
    let mut session = Session::with_envelope();
    assert_eq!(session.says(&[&"a".repeat(1_000), "."]), ["552 5.3.4"]);
    let mut session = Session::greeted();
    assert_eq!(session.says(&["MAIL FROM:<> SIZE=1001"]), ["552 5.3.4"]);
    let mut session = Session::with_envelope();
    session.sends(&vec![b'a'; (1 << 20) + 5_000]);
    assert!(session.closed && session.replies.starts_with("421 4.7.0"), "{}", session.replies);
}

#[test]
fn starttls_is_offered_once_and_forgets_what_came_before() {
    let mut session = Session::new(Protection::Offered);
    session.sends(b"EHLO a.example\r\n");
    assert!(session.replies.contains("250 STARTTLS") && !session.replies.contains("AUTH"));
    session.sends(b"MAIL FROM:<>\r\nSTARTTLS\r\nRCPT TO:<postmaster>\r\n");
    assert_eq!((session.handshakes, session.input.len()), (1, 0), "injected commands are gone");
    assert_eq!(session.says(&["MAIL FROM:<>"]), ["503 5.5.1"], "a new EHLO is needed");
    session.says(&["EHLO a.example"]);
    assert!(!session.replies.contains("STARTTLS"), "{}", session.replies);
    assert_eq!(session.says(&["STARTTLS"]), ["503 5.5.1"]);
    assert_eq!(Session::greeted().says(&["STARTTLS"]), ["502 5.5.1"], "there is no certificate");
}

#[test]
fn what_is_not_offered_is_not_done() {
    let mut session = Session::greeted();
    assert_eq!(
        session.says(&["AUTH PLAIN AGEAYg==", "EXPN a", "VRFY a"]),
        ["502 5.5.1", "502 5.5.1", "252 2.1.5"]
    );
    assert_eq!(session.says(&["BDAT 4 LAST"]), ["502 5.5.1", "421 4.7.0"]);
    assert!(session.closed, "the octets of a chunk are not read as commands");
}

#[test]
fn commands_have_their_order() {
    let mut session = Session::new(Protection::None);
    assert_eq!(session.says(&["MAIL FROM:<>"]), ["503 5.5.1"]);
    assert_eq!(session.says(&["HELO a"]), ["250"]);
    assert_eq!(session.says(&["RCPT TO:<postmaster>", "DATA"]), ["503 5.5.1", "503 5.5.1"]);
    assert_eq!(
        session.says(&["MAIL FROM:<>", "MAIL FROM:<>", "DATA"]),
        ["250 2.1.0", "503 5.5.1", "503 5.5.1"]
    );
    assert_eq!(session.says(&["RSET", "RCPT TO:<postmaster>"]), ["250 2.0.0", "503 5.5.1"]);
}

#[test]
fn whoever_guesses_addresses_is_sent_away() {
    let mut session = Session::greeted();
    session.says(&["MAIL FROM:<>"]);
    for _ in 0..MAX_ERRORS {
        session.says(&["RCPT TO:<bob@example.org>"]);
    }
    assert!(session.closed && session.replies.contains("421 4.7.0"), "{}", session.replies);
}

#[test]
fn a_message_has_a_bounded_number_of_recipients() {
    let mut session = Session::greeted();
    session.says(&["MAIL FROM:<>"]);
    let host = "bounce.customer.example".parse().expect("a name");
    for n in 0..=MAX_RECIPIENTS {
        let id = format!("msg_01JD{n:022}").parse().expect("an identifier");
        let address = verp().address(id, &host).expect("there is room");
        let wanted = if n < MAX_RECIPIENTS { "250 2.1.5" } else { "452 4.5.3" };
        assert_eq!(session.says(&[&format!("RCPT TO:<{address}>")]), [wanted]);
    }
}

#[test]
fn a_dismissed_session_says_why() {
    for (why, code) in [
        (Dismissal::Stopping, "421 4.3.2"),
        (Dismissal::Idle, "421 4.4.2"),
        (Dismissal::TooManyConnections, "421 4.7.0"),
    ] {
        let mut session = Session::greeted();
        session.dialog.dismiss(why);
        session.sends(b"NOOP\r\n");
        assert!(session.closed && session.replies.starts_with(code), "{}", session.replies);
    }
}

proptest! {
    #[test]
    fn any_octets_in_any_pieces_are_survived(
        lines in prop::collection::vec(
            prop_oneof![
                Just(b"EHLO a\r\n".to_vec()),
                Just(b"MAIL FROM:<>\r\n".to_vec()),
                Just(b"RCPT TO:<postmaster>\r\n".to_vec()),
                Just(b"DATA\r\n".to_vec()),
                Just(b"\r\n.\r\n".to_vec()),
                Just(b"RSET\r\n".to_vec()),
                prop::collection::vec(any::<u8>(), 0..30),
            ],
            0..20,
        ),
        size in 1_usize..50,
    ) {
        let input = lines.concat();
        let mut whole = Session::new(Protection::None);
        whole.sends(&input);
        let mut cut = Session::new(Protection::None);
        for piece in input.chunks(size) {
            cut.sends(piece);
        }
        prop_assert_eq!(whole.replies, cut.replies);
        prop_assert_eq!(whole.mails, cut.mails);
    }
}
