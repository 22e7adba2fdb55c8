//! What the driver refuses, at each command.

use insta::assert_snapshot;

use super::Session;
use crate::server::reply::Reply;

#[test]
fn a_refused_sender_begins_no_transaction() {
    let refusals = [
        Reply::DomainNotVerified.with("DOMAIN_NOT_VERIFIED example.com 75% (missing DKIM)"),
        Reply::RateLimited.with("RATE_LIMITED too many requests; try again in 2 s"),
        Reply::KeyGone.into(),
        Reply::Forbidden.with("FORBIDDEN no messages at night"),
    ];
    let mut transcript = String::new();
    for refusal in refusals {
        let mut session = Session::logged_in();
        session.sender = Err(refusal);
        session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
        transcript.push_str(&session.transcript);
    }
    assert_snapshot!(transcript);
}

#[test]
fn a_stop_in_the_midst_of_a_transaction_ends_the_session() {
    let mut session = Session::logged_in();
    session.recipient = |_| Err(Reply::Stopping.with("UNAVAILABLE the server is shutting down"));
    session.sends(b"MAIL FROM:<ada@example.com>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn a_refused_message_ends_its_transaction() {
    let mut session = Session::with_envelope();
    session.message = Err(Reply::UnpaidForGood.with("INSUFFICIENT_BALANCE need 3, have 1"));
    session.says(&["DATA", ".", "RCPT TO:<bob@example.net>"]);
    assert_eq!(
        session.replies(),
        "354 end the message with <CR><LF>.<CR><LF>\n\
         550 5.7.1 INSUFFICIENT_BALANCE need 3, have 1\n\
         503 5.5.1 send MAIL first"
    );
}
