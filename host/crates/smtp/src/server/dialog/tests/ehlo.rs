//! EHLO and HELO.

use insta::assert_snapshot;

use super::Session;

#[test]
fn before_tls_only_starttls_is_offered() {
    assert_snapshot!(Session::plain().says(&["EHLO client.example"]).transcript);
}

#[test]
fn with_tls_auth_is_offered_until_the_login() {
    let login = format!("AUTH PLAIN {}", super::KEY_PLAIN);
    let lines = ["EHLO client.example", &login, "ehlo client.example"];
    assert_snapshot!(Session::tls().says(&lines).transcript);
}

#[test]
fn helo_is_answered_with_one_line() {
    assert_snapshot!(Session::tls().says(&["HELO client.example"]).transcript);
}

#[test]
fn clients_may_call_themselves_anything_printable() {
    let mut session = Session::tls();
    let longest = "a".repeat(255);
    for name in ["[127.0.0.1]", "my printer", "_", "bücher", " padded ", longest.as_str()] {
        session.says(&[&format!("EHLO {name}")]);
        assert!(session.replies().ends_with("250 AUTH PLAIN LOGIN"), "{name}");
    }
}

#[test]
fn a_name_that_is_none_is_refused() {
    let mut session = Session::tls();
    session.says(&["EHLO", "HELO  ", "EHLO a\tb", &format!("EHLO {}", "a".repeat(256))]);
    session.sends(b"EHLO \xff\r\n");
    session.says(&["MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.replies());
}

#[test]
fn a_second_ehlo_ends_the_transaction_and_keeps_the_login() {
    let mut session = Session::with_envelope();
    session.says(&["EHLO again.example", "RCPT TO:<bob@example.net>"]);
    session.says(&["MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn the_message_carries_the_last_name() {
    let mut session = Session::logged_in();
    session.says(&["EHLO again.example", "MAIL FROM:<ada@example.com>"]);
    session.says(&["RCPT TO:<bob@example.net>", "DATA", "."]);
    assert_eq!(session.mails.first().map(|mail| mail.hello.as_str()), Some("again.example"));
}
