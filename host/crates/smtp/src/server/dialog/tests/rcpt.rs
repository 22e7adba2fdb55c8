//! RCPT.

use insta::assert_snapshot;

use super::Session;
use crate::server::reply::Reply;

#[test]
fn recipients_are_taken_once_each() {
    let mut session = Session::logged_in();
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
    session.says(&["rcpt to: <bob@EXAMPLE.net>", "RCPT TO:<Bob@example.net>"]);
    session.says(&["RCPT TO:<@relay.example:\"c d\"@example.net>", "RCPT TO:<bob@example.net>"]);
    session.says(&["DATA", "."]);
    assert_snapshot!(session.transcript);
}

#[test]
fn too_many_recipients_are_left_for_another_message() {
    let mut session = Session::with_envelope();
    session.says(&["RCPT TO:<2@example.net>", "RCPT TO:<3@example.net>"]);
    session.says(&["RCPT TO:<4@example.net>", "RCPT TO:<2@example.net>", "DATA", "."]);
    assert_snapshot!(session.transcript);
}

#[test]
fn what_is_no_recipient_is_refused() {
    let mut session = Session::with_envelope();
    session.says(&[
        "RCPT",
        "RCPT FROM:<bob@example.net>",
        "RCPT TO:bob@example.net",
        "RCPT TO:<>",
        "RCPT TO:<bob>",
        "RCPT TO:<postmaster>",
        "RCPT TO:<bob@example.net> NOTIFY=NEVER",
        "RCPT TO:<bob@example.net> NOTIFY=",
        "RCPT TO:<bob@example.net>,<eve@example.net>",
        "RCPT TO:<bob@example.net, eve@example.net>",
        "RCPT TO:<用户@example.net>",
    ]);
    session.sends(b"RCPT TO:<b\xf6b@example.net>\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn smtputf8_holds_for_one_message() {
    let mut session = Session::logged_in();
    session.says(&["MAIL FROM:<ada@example.com> SMTPUTF8", "RCPT TO:<用户@example.net>"]);
    session.says(&["RSET", "MAIL FROM:<ada@example.com>", "RCPT TO:<用户@example.net>"]);
    assert_snapshot!(session.transcript);
    let mut session = Session::logged_in();
    session.says(&["MAIL FROM:<ada@example.com> SMTPUTF8", "RCPT TO:<用户@example.net>"]);
    session.says(&["DATA", "."]);
    assert_eq!(session.mails.first().map(|mail| mail.utf8), Some(true));
}

#[test]
fn a_recipient_that_the_driver_refuses_is_not_sent_to() {
    let mut session = Session::logged_in();
    session.recipient = |recipient| match recipient.local() {
        "bob" => Ok(()),
        _ => Err(Reply::Forbidden.with("FORBIDDEN not to eve")),
    };
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<eve@example.net>", "DATA"]);
    session.says(&["RCPT TO:<bob@example.net>", "DATA", "."]);
    assert_snapshot!(session.transcript);
    let recipients = session.mails.first().map(|mail| mail.recipients.len());
    assert_eq!(recipients, Some(1));
}

#[test]
fn rcpt_comes_after_mail() {
    assert_snapshot!(Session::logged_in().says(&["RCPT TO:<bob@example.net>"]).transcript);
}
