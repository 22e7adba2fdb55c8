//! AUTH (RFC 4954).

use insta::assert_snapshot;

use super::{KEY_PLAIN, Session};
use crate::server::reply::Reply;

fn greeted() -> Session {
    let mut session = Session::tls();
    session.says(&["EHLO client.example"]);
    session.transcript.clear();
    session
}

#[test]
fn plain_with_an_initial_response() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    assert_snapshot!(greeted().says(&[&login]).transcript);
}

#[test]
fn plain_in_two_lines() {
    assert_snapshot!(greeted().says(&["auth plain", KEY_PLAIN]).transcript);
}

#[test]
fn login_asks_for_user_and_password() {
    assert_snapshot!(greeted().says(&["AUTH LOGIN ", "a2V5", "a2V5"]).transcript);
}

#[test]
fn login_with_the_user_as_initial_response() {
    assert_snapshot!(greeted().says(&["AUTH LOGIN a2V5", "a2V5"]).transcript);
}

#[test]
fn three_failed_logins_end_the_session() {
    let mut session = greeted();
    session.says(&["AUTH LOGIN a2V5", "b3RoZXI="]);
    session.says(&["AUTH LOGIN =", "", "AUTH PLAIN AG90aGVyAG90aGVy"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn a_failed_login_can_be_mended() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    let lines = ["AUTH PLAIN b3RoZXIAa2V5AGtleQ==", &login, "MAIL FROM:<>"];
    assert_snapshot!(greeted().says(&lines).transcript);
}

#[test]
fn an_exchange_can_be_canceled_or_break_off() {
    let mut session = greeted();
    session.says(&["AUTH LOGIN", "*", "AUTH LOGIN", "a2V5", "*", "AUTH PLAIN", "*"]);
    session.says(&["AUTH PLAIN", "not base64", "AUTH PLAIN =", "AUTH LOGIN ?", "AUTH PLAIN"]);
    session.sends(b"AGtleQBrZXk=\n").says(&["AUTH LOGIN"]);
    session.sends_quietly(&[b'a'; 4000]).says(&["", "NOOP"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn commands_in_an_exchange_are_responses() {
    assert_snapshot!(greeted().says(&["AUTH PLAIN", "QUIT", "QUIT"]).transcript);
}

#[test]
fn other_mechanisms_are_not_offered() {
    let lines = ["AUTH", "AUTH CRAM-MD5", "AUTH XOAUTH2 abc", "AUTH PLAIN a b"];
    assert_snapshot!(greeted().says(&lines).transcript);
}

#[test]
fn auth_waits_for_ehlo_and_tls() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    let mut session = Session::plain();
    session.says(&[&login, "EHLO client.example", &login, "AUTH LOGIN"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn nobody_logs_in_twice_or_in_a_transaction() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    let lines = [login.as_str(), "MAIL FROM:<ada@example.com>", &login];
    assert_snapshot!(Session::logged_in().says(&lines).transcript);
}

#[test]
fn a_421_to_a_login_closes_the_session_and_another_refusal_does_not() {
    let login = format!("AUTH PLAIN {KEY_PLAIN}");
    let refusals = [
        Reply::WrongKey.into(),
        Reply::LoginNotAllowed.with("FORBIDDEN this address may not use the key"),
        Reply::LoginOutage.with("UNAVAILABLE the store cannot be reached"),
        Reply::Stopping.with("UNAVAILABLE the server is shutting down"),
        Reply::TooManyLogins.with(
            "RATE_LIMITED the API key is not valid, and this IP address has had too many failed logins; a valid key works at once, this one may be tried again in 2 s",
        ),
    ];
    let mut transcript = String::new();
    for refusal in refusals {
        let mut session = greeted();
        session.login = Err(refusal);
        transcript.push_str(&session.says(&[&login]).transcript);
    }
    assert_snapshot!(transcript);
}
