use std::fmt::Write;
use std::time::Duration;

use insta::assert_snapshot;
use waxwing_smtp::server::reply::Answer;

use super::manual::manual;
use super::*;
use crate::credit::Credits;
use crate::generated_docs::assert_up_to_date;

fn written(answer: &Answer) -> String {
    let mut output = Vec::new();
    answer.write(&mut output);
    let output = String::from_utf8(output).expect("replies are ASCII");
    output.trim_end().replace("\r\n", "\n")
}

fn at(moment: Moment, refusal: &Refusal) -> String {
    written(&answer(moment, refusal, Unpaid::Temporary))
}

fn at_the_end(refusal: &Refusal) -> String {
    at(Moment::End, refusal)
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
        Refusal::read_only("moving to a new disk"),
    ]
}

#[test]
fn every_refusal_of_a_message_has_its_reply() {
    let mut replies = String::new();
    for refusal in all() {
        writeln!(replies, "{}", at_the_end(&refusal)).expect("a string takes everything");
    }
    assert_snapshot!(replies);
}

#[test]
fn the_code_word_stands_first() {
    for refusal in all() {
        let code = refusal.code();
        let reply = at_the_end(&refusal);
        let text = reply.lines().next().unwrap_or_default().splitn(3, ' ').nth(2);
        assert!(text.is_some_and(|it| it.starts_with(code)), "{reply}");
    }
}

#[test]
fn a_cause_has_the_same_words_over_http_and_smtp() {
    let own_words = |refusal: &Refusal| match refusal {
        // Each fault has its line, the key is no header field, and the contract gives the words of the others.
        Refusal::BadRequest { .. }
        | Refusal::Unauthorized
        | Refusal::InsufficientBalance { .. }
        | Refusal::DomainNotVerified { .. } => true,
        Refusal::RestrictedTemplate { .. }
        | Refusal::Forbidden { .. }
        | Refusal::RateLimited { .. }
        | Refusal::TooManyFailedLogins { .. }
        | Refusal::IdempotencyConflict
        | Refusal::IdempotencyInFlight
        | Refusal::Internal { .. }
        | Refusal::Unavailable { .. } => false,
    };
    let too_many = Refusal::TooManyFailedLogins { retry_after: Duration::from_mins(1) };
    let same = all().into_iter().chain([too_many]).filter(|refusal| !own_words(refusal));
    for refusal in same {
        let wanted = format!("{} {}", refusal.code(), refusal.message());
        let answer = answer(Moment::End, &refusal, Unpaid::Temporary);
        assert!(written(&answer).contains(&wanted), "{wanted} in {}", written(&answer));
        let is_example = matches!(
            answer.reply,
            Reply::InFlight
                | Reply::ReadOnly
                | Reply::IdempotencyConflict
                | Reply::RateLimited
                | Reply::TooManyLogins
        );
        assert!(!is_example || answer.reply.text() == wanted, "the manual says {wanted}");
    }
}

#[test]
fn refused_logins_have_their_own_codes() {
    let refusals = [
        Refusal::Unauthorized,
        Refusal::Forbidden {
            message: "this address may not use the key".to_owned(),
            retry_after_s: None,
        },
        Refusal::unavailable(Outage::Store, "the store cannot be reached"),
        Refusal::unavailable(Outage::Stopping, "the server is shutting down"),
        Refusal::TooManyFailedLogins { retry_after: Duration::from_millis(1500) },
    ];
    let replies: Vec<String> = refusals.iter().map(|it| at(Moment::Login, it)).collect();
    assert_snapshot!(replies.join("\n"));
}

#[test]
fn a_fault_of_the_envelope_is_a_bad_address() {
    let fault = |field| Refusal::fault(field, "invalid", "not this one");
    let recipient = at(Moment::Recipient, &fault("to"));
    assert_eq!(recipient, "501 5.1.3 BAD_REQUEST to: not this one");
    let sender = at(Moment::Sender, &fault("from"));
    assert_eq!(sender, "501 5.1.7 BAD_REQUEST from: not this one");
}

#[test]
fn an_unpaid_message_can_be_refused_for_good() {
    let reply = written(&answer(Moment::End, &unpaid(), Unpaid::Permanent));
    assert_eq!(reply, "550 5.7.1 INSUFFICIENT_BALANCE need 3, have 1");
}

#[test]
fn faults_stand_one_a_line_and_at_most_twenty() {
    let faults = |count: usize| {
        let fault = |n| Fault::new(&format!("X-Waxwing-Tag {n}"), "invalid", "too long");
        Refusal::bad_request((1..=count).map(fault).collect())
    };
    assert_snapshot!(at_the_end(&faults(2)));
    assert_eq!(at_the_end(&faults(20)).lines().count(), 20);
    let many = at_the_end(&faults(30));
    assert_eq!(many.lines().count(), 20);
    assert!(many.ends_with("554 5.6.0 and 11 more faults"), "{many}");
}

#[test]
fn texts_from_elsewhere_cannot_leave_their_line() {
    let message = format!("a\r\n250 2.0.0 Ok\0 ünsafe {}", "long ".repeat(200));
    let reply = at_the_end(&Refusal::Forbidden { message, retry_after_s: None });
    assert_eq!(reply.lines().count(), 1);
    assert_eq!(reply.len(), 510);
    assert_snapshot!(reply);
}

#[test]
fn the_manual_is_what_the_code_says() {
    assert_up_to_date("src/relay/REPLIES.md", &manual(), "relay::reply");
}
