//! The journey's noes, at each command.

use std::fmt::Write;
use std::time::Duration;

use insta::assert_snapshot;

use super::{Session, terms};
use crate::credit::Credits;
use crate::journey::accept::refusal::{Fault, Outage, Refusal};
use crate::relay::dialog::{Terms, Unpaid};

fn at_the_end(refusal: Refusal) -> String {
    let mut session = Session::with_envelope();
    session.message = Err(refusal.into());
    session.says(&["DATA"]);
    session.replies();
    session.says(&["."]);
    let reply = session.replies();
    session.says(&["NOOP"]);
    reply
}

fn unpaid() -> Refusal {
    Refusal::InsufficientBalance { required: Credits(3), balance: Credits(1) }
}

fn unverified(missing: &[&str]) -> Refusal {
    Refusal::DomainNotVerified {
        domain: "example.com".to_owned(),
        progress: 75,
        missing: missing.iter().map(|it| (*it).to_owned()).collect(),
    }
}

fn forbidden(retry_after_s: Option<u32>) -> Refusal {
    Refusal::Forbidden { message: "no messages at night".to_owned(), retry_after_s }
}

fn all() -> Vec<Refusal> {
    vec![
        Refusal::fault("From", "missing", "the header is missing"),
        Refusal::Unauthorized,
        unpaid(),
        unverified(&["DKIM"]),
        unverified(&["DKIM", "SPF"]),
        unverified(&[]),
        Refusal::RestrictedTemplate {
            template: "invoice".to_owned(),
            plan: "free".to_owned(),
            required_plan: Some("pro".to_owned()),
            message: "the template needs the plan pro".to_owned(),
        },
        forbidden(None),
        forbidden(Some(3600)),
        Refusal::RateLimited { retry_after: Duration::from_secs(2) },
        Refusal::IdempotencyConflict,
        Refusal::IdempotencyInFlight,
        Refusal::Internal { message: "the template cannot be rendered".to_owned() },
        Refusal::unavailable(Outage::Plugin, "a plugin failed"),
        Refusal::unavailable(Outage::Store, "the store cannot be reached"),
        Refusal::unavailable(Outage::Busy, "too much at one time"),
        Refusal::unavailable(Outage::Stopping, "the server is shutting down"),
    ]
}

#[test]
fn every_refusal_of_a_message_has_its_reply() {
    let mut replies = String::new();
    for refusal in all() {
        writeln!(replies, "{}", at_the_end(refusal)).expect("a string takes everything");
    }
    assert_snapshot!(replies);
}

#[test]
fn the_code_word_stands_first() {
    for refusal in all() {
        let code = refusal.code();
        let reply = at_the_end(refusal);
        let text = reply.lines().next().unwrap_or_default().splitn(3, ' ').nth(2);
        assert!(text.is_some_and(|it| it.starts_with(code)), "{reply}");
    }
}

#[test]
fn a_refused_sender_begins_no_transaction() {
    let refusals = [
        unverified(&["DKIM"]),
        Refusal::RateLimited { retry_after: Duration::from_secs(2) },
        Refusal::Unauthorized,
        forbidden(None),
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
fn a_fault_of_the_envelope_is_a_bad_address() {
    let mut session = Session::logged_in();
    session.recipient = |_| Err(Refusal::fault("to", "invalid", "not this one"));
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>", "RSET"]);
    session.sender = Err(Refusal::fault("from", "invalid", "not this one"));
    session.says(&["MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn a_stop_in_the_midst_of_a_transaction_ends_the_session() {
    let mut session = Session::logged_in();
    session.recipient =
        |_| Err(Refusal::unavailable(Outage::Stopping, "the server is shutting down"));
    session.sends(b"MAIL FROM:<ada@example.com>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn an_unpaid_message_can_be_refused_for_good() {
    let mut session = Session::logged_in_under(Terms { unpaid: Unpaid::Permanent, ..terms() });
    session.message = Err(unpaid().into());
    session.says(&["MAIL FROM:<>", "RCPT TO:<bob@example.net>", "DATA", "."]);
    assert_snapshot!(session.transcript);
}

#[test]
fn faults_stand_one_a_line_and_at_most_twenty() {
    let faults = |count: usize| {
        let fault = |n| Fault::new(&format!("X-Waxwing-Tag {n}"), "invalid", "too long");
        Refusal::bad_request((1..=count).map(fault).collect())
    };
    assert_snapshot!(at_the_end(faults(2)));
    assert_eq!(at_the_end(faults(20)).lines().count(), 20);
    let many = at_the_end(faults(30));
    assert_eq!(many.lines().count(), 20);
    assert!(many.ends_with("554 5.6.0 and 11 more faults"), "{many}");
}

#[test]
fn texts_from_elsewhere_cannot_leave_their_line() {
    let message = format!("a\r\n250 2.0.0 Ok\0 ünsafe {}", "long ".repeat(200));
    let reply = at_the_end(Refusal::Forbidden { message, retry_after_s: None });
    assert_eq!(reply.lines().count(), 1);
    assert_eq!(reply.len(), 510);
    assert_snapshot!(reply);
}
