//! PIPELINING (RFC 2920).

use insta::assert_snapshot;

use super::{Session, accepted};
use crate::server::dialog::Step;

#[test]
fn a_group_of_commands_is_answered_together() {
    let mut session = Session::logged_in();
    session.message = Ok(accepted(1));
    session.sends(
        b"RSET\r\nMAIL FROM:<ada@example.com>\r\nRCPT TO:<bob@example.net>\r\nRCPT TO:<>\r\nDATA\r\n",
    );
    session.sends(b"Subject: a\r\n\r\n.\r\nMAIL FROM:<ada@example.com>\r\nQUIT\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn what_follows_a_refused_sender_fails_in_its_turn() {
    let mut session = Session::logged_in();
    session.sends(b"MAIL FROM:<ada>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn replies_wait_for_the_driver_and_come_out_together() {
    let mut session = Session::logged_in();
    session.input.extend_from_slice(b"NOOP\r\nMAIL FROM:<>\r\nNOOP\r\n");
    assert_eq!(session.dialog.next(&mut session.input), Step::Sender(None));
    assert_eq!(session.dialog.next(&mut session.input), Step::Wait, "an answer is owed");
    assert_eq!(session.input.as_ref(), b"NOOP\r\n");
    session.dialog.sender_checked(Ok(()));
    assert_eq!(session.dialog.next(&mut session.input), Step::Wait);
    let output = String::from_utf8(std::mem::take(session.dialog.output()));
    assert_eq!(output.as_deref(), Ok("250 2.0.0 Ok\r\n250 2.1.0 Ok\r\n250 2.0.0 Ok\r\n"));
}

#[test]
fn replies_that_nobody_reads_do_not_pile_up() {
    let mut session = Session::tls();
    session.input.extend_from_slice(&b"EHLO a\r\n".repeat(4000));
    let mut flushes = 0;
    while session.dialog.next(&mut session.input) == Step::Flush {
        assert!(session.dialog.output().len() < 9 * 1024);
        session.dialog.output().clear();
        flushes += 1;
    }
    assert!(flushes > 50);
}
