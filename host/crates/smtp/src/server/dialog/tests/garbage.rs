//! What is no SMTP.

use insta::assert_snapshot;

use super::Session;

#[test]
fn unknown_commands_are_counted_and_end_the_session() {
    let mut session = Session::plain();
    session.says(&["GET / HTTP/1.1", "Host: mail.example.com", "", "MAILFROM:<a@b.example>"]);
    assert_snapshot!(session.transcript);
    session.says(&["X"; 20]);
    let replies = session.replies();
    assert_eq!(replies.lines().filter(|it| it.starts_with("500 5.5.1 ")).count(), 20);
    assert!(replies.ends_with("421 4.7.0 too many errors"), "{replies}");
    assert!(session.dialog.next(&mut session.input) == crate::server::dialog::Step::Close);
}

#[test]
fn a_message_that_is_accepted_forgives_the_errors_before_it() {
    let mut session = Session::logged_in();
    session.says(&["X"; 19]);
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>", "DATA", "."]);
    session.says(&["X"; 19]);
    assert!(!session.replies().contains("421"));
    session.says(&["X"]);
    assert!(session.replies().contains("421 4.7.0 too many errors"));
}

#[test]
fn bad_addresses_do_not_cost_the_good_ones() {
    let mut session = Session::with_envelope();
    session.says(&["RCPT TO:<bad>"; 50]).says(&["DATA", "."]);
    assert_eq!(session.mails.len(), 1);
}

#[test]
fn lines_that_end_otherwise_are_not_executed() {
    let mut session = Session::logged_in();
    session.sends(b"MAIL FROM:<ada@example.com>\nRCPT TO:<bob@example.net>\n");
    session.sends(b"NOOP\r\r\n").sends(b"NO\rOP\r\n").sends(b"NOOP\0\r\n").sends(b"\xff\xfe\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn lines_that_are_too_long_are_not_executed() {
    let mut session = Session::logged_in();
    session.sends_quietly(b"NOOP ").sends_quietly(&[b'a'; 2041]).sends_quietly(b"\r\n");
    session.sends_quietly(b"QUIT ").sends_quietly(&[b'a'; 2042]).sends_quietly(b"\r\n");
    for _ in 0..60 {
        session.sends_quietly(&[b'b'; 1000]);
        assert!(session.input.len() < 2048);
    }
    session.sends_quietly(b"\r\nNOOP\r\n");
    assert_snapshot!(session.replies());
}

#[test]
fn commands_that_need_a_login_do_without_one_what_they_should() {
    let mut session = Session::tls();
    session.says(&["EHLO a", "MAIL FROM:<>", "RCPT TO:<bob@example.net>", "DATA"]);
    session.says(&["BDAT 0 LAST", "VRFY a", "HELP", "NOOP", "RSET", "STARTTLS", "QUIT"]);
    assert_snapshot!(session.replies());
}

#[test]
fn a_command_line_without_end_is_cut() {
    let mut session = Session::plain();
    let piece = vec![b'a'; 1_000];
    let mut sent = 0;
    while session.transcript.lines().last() != Some("D: close") {
        session.sends_quietly(&piece);
        sent += piece.len();
    }
    assert!(sent <= 66_000, "{sent}");
    assert_snapshot!(session.replies());
}
