//! STARTTLS (RFC 3207).

use insta::assert_snapshot;

use super::{KEY_PLAIN, Session};

#[test]
fn a_client_secures_the_session_and_greets_anew() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    let lines = ["EHLO client.example", "STARTTLS", "MAIL FROM:<ada@example.com>"];
    let mut session = Session::plain();
    session.says(&lines).says(&["EHLO client.example", &login, "STARTTLS"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn what_is_sent_together_with_starttls_is_never_executed() {
    let mut session = Session::plain();
    session.says(&["EHLO client.example"]);
    session.transcript.clear();
    session.sends(b"STARTTLS\r\nEHLO injected.example\r\nNOOP\r\nQUI");
    session.says(&["T", "NOOP"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn an_overlong_line_before_the_handshake_is_forgotten_after_it() {
    let mut session = Session::plain();
    session.says(&["EHLO client.example"]);
    let input = [&b"STARTTLS\r\n"[..], &[b'a'; 5000]].concat();
    session.sends_quietly(&input);
    session.replies();
    session.says(&["NOOP"]);
    assert_eq!(session.replies(), "250 2.0.0 Ok");
}

#[test]
fn starttls_comes_after_ehlo_without_an_argument_and_once() {
    let mut session = Session::plain();
    session.says(&["STARTTLS", "EHLO client.example", "STARTTLS now"]);
    assert_snapshot!(session.transcript);
}
