//! The server ends a session of its own accord.

use insta::assert_snapshot;

use super::Session;
use crate::server::dialog::{Dismissal, Stage};

#[test]
fn each_reason_has_its_reply_and_closes() {
    let mut transcript = String::new();
    for why in [Dismissal::Stopping, Dismissal::Idle, Dismissal::TooManyConnections] {
        let mut session = Session::plain();
        session.transcript.clear();
        session.dialog.dismiss(why);
        session.dialog.dismiss(why);
        session.says(&["NOOP"]);
        transcript.push_str(&session.transcript);
    }
    assert_snapshot!(transcript);
}

#[test]
fn a_message_that_is_broken_off_is_gone() {
    let mut session = Session::with_envelope();
    session.says(&["DATA", "first line"]);
    session.dialog.dismiss(Dismissal::Idle);
    session.says(&["."]);
    assert!(session.mails.is_empty());
    assert_eq!((session.dialog.held_bytes(), session.dialog.stage()), (0, Stage::Idle));
}

#[test]
fn an_answer_after_the_end_changes_nothing() {
    let mut session = Session::with_envelope();
    session.dialog.dismiss(Dismissal::Stopping);
    session.replies();
    session.dialog.sender_checked(Ok(()));
    session.dialog.submitted(Ok(super::accepted(1)));
    session.dialog.authenticated(Ok(()));
    session.says(&["NOOP"]);
    assert_eq!(session.replies(), "421 4.3.2 UNAVAILABLE the server is shutting down");
}
