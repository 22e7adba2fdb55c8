//! What the journey gets from messages as programs write them, and from hostile ones.

mod data;
mod hostile;
mod parts;
mod programs;
mod whole;

use waxwing_smtp::server::dialog::BareNewline;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::journey::accept::submission::Filled;
use crate::journey::accept::submission::Raw;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A message to two recipients; its line feeds become CRLF.
fn mail(data: &str) -> Mail {
    let address = |text: &str| text.parse::<EmailAddress>().expect("valid");
    Mail {
        hello: "client.example".to_owned(),
        sender: Some(address("bounces@example.com")),
        recipients: vec![address("ada@example.net"), address("bob@example.org")],
        utf8: false,
        data: data.replace('\n', "\r\n").into_bytes(),
    }
}

fn read_mail(mail: Mail) -> Result<Items, Refusal> {
    let hostname = "mx.waxwing.example".to_owned();
    let settings = SessionSettings {
        hostname,
        message_bytes: 25 << 20,
        recipients: 100,
        bare_newline: BareNewline::Normalise,
    };
    read(mail, &settings, NOW)
}

/// The submissions of a faultless message, one for each recipient.
fn submissions(data: &str) -> Vec<Submission> {
    let (items, _) = read_mail(mail(data)).expect("readable");
    let items: Result<Vec<_>, _> = items.into_iter().collect();
    let items = items.unwrap_or_else(|faulty| panic!("{:?}", faulty.faults));
    let recipients: Vec<_> = items.iter().map(|it| it.to.to_string()).collect();
    assert_eq!(recipients, ["ada@example.net", "bob@example.org"]);
    items
}

/// The first submission, which uses a template.
fn filled(data: &str) -> (Submission, Filled) {
    let submission = submissions(data).swap_remove(0);
    match submission.content.clone() {
        Content::Filled(filled) => (submission, Arc::unwrap_or_clone(filled)),
        Content::Raw(_) | Content::Again(_) => panic!("the message has a template"),
    }
}

/// The first submission, which is a whole message.
fn raw(data: &str) -> (Submission, Arc<Raw>) {
    let submission = submissions(data).swap_remove(0);
    match submission.content.clone() {
        Content::Raw(raw) => (submission, raw),
        Content::Filled(_) | Content::Again(_) => panic!("the message has no template"),
    }
}

/// All faults of a message, as field and code.
fn faults(data: &str) -> Vec<(String, String)> {
    let faults = match read_mail(mail(data)) {
        Err(Refusal::BadRequest { faults }) => faults,
        Err(other) => panic!("another refusal: {other:?}"),
        Ok((mut items, _)) => {
            assert_eq!(items.len(), 1, "faults have one place");
            items.swap_remove(0).expect_err("faulty").faults
        }
    };
    faults.into_iter().map(|fault| (fault.field, fault.code)).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

/// A template send with these further lines in its header.
fn with(lines: &str) -> String {
    format!("X-Waxwing-Template: welcome\nFrom: Shop <shop@example.com>\n{lines}\n\n")
}

fn key_of(mail: Mail) -> Idempotency {
    let (_, idempotency) = read_mail(mail).expect("readable");
    idempotency.expect("it has a key")
}

#[test]
fn the_idempotency_key_is_bound_to_envelope_and_content() {
    let text = "X-Waxwing-Idempotency-Key: order-4711\nFrom: a@example.com\n\nBody\n";
    let key = key_of(mail(text));
    assert_eq!(key.key, "order-4711");
    assert_eq!(key_of(mail(text)).body_hash, key.body_hash);

    let mut fewer = mail(text);
    fewer.recipients.truncate(1);
    let mut swapped = mail(text);
    swapped.recipients.reverse();
    assert_eq!(key_of(swapped).body_hash, key.body_hash, "the order of RCPT says nothing");
    let bounce = Mail { sender: None, ..mail(text) };
    let longer = mail(&format!("{text}\n"));
    for other in [fewer, bounce, longer] {
        assert_ne!(key_of(other).body_hash, key.body_hash);
    }
    assert!(read_mail(mail("From: a@example.com\n\n")).expect("readable").1.is_none());
}

#[test]
fn a_header_names_the_locale_of_a_template() {
    let (_, filled) = filled(&with("X-Waxwing-Locale: de-at"));
    assert_eq!(filled.locale.map(|it| it.to_string()).as_deref(), Some("de-AT"));
    assert_eq!(
        faults(&with("X-Waxwing-Locale: german!")),
        pairs(&[("X-Waxwing-Locale", "invalid")])
    );
    assert_eq!(
        faults("From: a@example.com\nX-Waxwing-Locale: de\n\nBody\n"),
        pairs(&[("X-Waxwing-Locale", "unexpected")])
    );
}
