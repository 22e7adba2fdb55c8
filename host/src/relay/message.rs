//! From a message that the dialog took to what the journey takes: a template send for each
//! recipient, or one whole message for all of them.
//!
//! Nothing is judged here that is judged over HTTP too: tags, metadata, attachments and the like
//! become the JSON of the send API, and go through the same parser.

mod attachments;
mod data;
mod x_waxwing_headers;
mod part;
mod template;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use waxwing_smtp::server::dialog::{Mail, Terms};

use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Fault, Refusal, Refused};
use crate::journey::accept::submission::{Content, Faulty, Raw, Submission};
use crate::mail::field::Message;
use crate::mail::raw::{Arrival, Protocol, RawMessage, Unfit};
use crate::mail::submission_fixups::{Letters, NotCarriable, carriable};
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::store::records::Idempotency;
use x_waxwing_headers::XWaxwingHeaders;

/// What the journey takes: a place for each recipient, and the client's own key. Where the fields
/// have faults, there is one place with all of them.
pub type Items = (Vec<Result<Submission, Faulty>>, Option<Idempotency>);

/// Reads a message, under the terms of its session.
///
/// # Errors
/// The message cannot be read, or not be relayed as it is: all faults at once.
pub fn read(mail: Mail, terms: &Terms, now: Timestamp) -> Result<Items, Refusal> {
    let mut faults = Vec::new();
    let (x_waxwing, asked) = {
        let message = match Message::split(&mail.data) {
            Ok(message) => message,
            Err(error) => return Err(refuse(vec![unfit(&Unfit::Header(error))])),
        };
        let mut x_waxwing = XWaxwingHeaders::read(&message, &mut faults);
        let asked = x_waxwing
            .template
            .take()
            .map(|slug| template::asked(&message, slug, &mut x_waxwing, &mut faults));
        (x_waxwing, asked)
    };
    let idempotency = x_waxwing
        .idempotency_key
        .as_ref()
        .map(|key| Idempotency { key: key.clone(), body_hash: digest(&mail) });
    let items = match asked {
        Some(asked) => asked.items(&x_waxwing, mail.recipients, faults, now),
        None => whole(&x_waxwing, mail, &terms.hostname, faults, now)?,
    };
    refuse_copies(&items, terms.message_bytes)?;
    Ok((items, idempotency))
}

/// A refusal of the journey, with its faults named by header fields.
pub fn by_header(mut refused: Refused) -> Refused {
    if let Refusal::BadRequest { faults } = &mut refused.refusal {
        for fault in faults {
            match fault.field.as_str() {
                "template" => "X-Waxwing-Template".clone_into(&mut fault.field),
                "from" => "From".clone_into(&mut fault.field),
                _ => {}
            }
        }
    }
    refused
}

/// A template makes a message for each recipient, and each of them holds all attachments: together
/// they may be as large as one message.
fn refuse_copies(items: &[Result<Submission, Faulty>], limit: usize) -> Result<(), Refusal> {
    let attached = |item: &Result<Submission, Faulty>| match item {
        Ok(Submission { content: Content::Filled(filled), .. }) => {
            filled.attachments.iter().map(|it| it.content.len()).sum()
        }
        Ok(Submission { content: Content::Raw(_) | Content::Again(_), .. }) | Err(_) => 0,
    };
    let copies: usize = items.iter().map(attached).sum();
    if copies <= limit {
        return Ok(());
    }
    let text = format!(
        "the attachments, once for each of the {} recipients, have {copies} octets and may have \
         {limit}; send to fewer recipients at a time",
        items.len()
    );
    Err(refuse(vec![Fault::new("attachments", "too_large", text)]))
}

/// One message that goes to all recipients as it is.
fn whole(
    x_waxwing: &XWaxwingHeaders,
    mail: Mail,
    hostname: &str,
    mut faults: Vec<Fault>,
    now: Timestamp,
) -> Result<Vec<Result<Submission, Faulty>>, Refusal> {
    let Mail { hello, sender, recipients, utf8, data } = mail;
    let protocol = if utf8 { Protocol::Utf8Smtp } else { Protocol::Esmtp };
    let arrival = Arrival { hello, hostname: hostname.to_owned(), protocol };
    let letters = if utf8 { Letters::Utf8 } else { Letters::Ascii };
    let message = match carriable(data, letters) {
        Ok(data) => RawMessage::read(data, arrival)
            .map_err(|errors| faults.extend(errors.iter().map(unfit))),
        Err(errors) => {
            faults.extend(errors.iter().map(not_carriable));
            Err(())
        }
    };
    // The parser of the send API judges the fields that a whole message has too. Its content is
    // put in afterwards, so the template that stands here is never looked up.
    let body = x_waxwing.body(Map::from_iter([
        ("template".to_owned(), json!("none")),
        ("data".to_owned(), json!({})),
    ]));
    let parsed =
        parse(body, &recipients, now, x_waxwing).map_err(|faulty| faults.extend(faulty.faults));
    let (Ok(message), Ok(submission), true) = (message, parsed, faults.is_empty()) else {
        return Err(refuse(faults));
    };
    let content = Content::Raw(Arc::new(Raw { return_path: sender, message }));
    let submission = Submission { content, ..submission };
    Ok(each(&submission, recipients))
}

/// The same for each recipient.
fn each(submission: &Submission, recipients: Vec<EmailAddress>) -> Vec<Result<Submission, Faulty>> {
    recipients.into_iter().map(|to| Ok(Submission { to, ..submission.clone() })).collect()
}

/// Parses the body of the send API for the first recipient, and names faults by header fields.
fn parse(
    mut body: Map<String, Value>,
    recipients: &[EmailAddress],
    now: Timestamp,
    x_waxwing: &XWaxwingHeaders,
) -> Result<Submission, Faulty> {
    let to = recipients.first().map(|to| Value::String(to.to_string()));
    body.insert("to".to_owned(), to.unwrap_or_default());
    body.insert("type".to_owned(), json!("EMAIL"));
    Submission::parse(Channel::Smtp, Value::Object(body), now).map_err(|mut faulty| {
        for fault in &mut faulty.faults {
            fault.field = x_waxwing.header_of(&fault.field);
        }
        faulty
    })
}

/// SHA-256 of the envelope and the message; every part with its length, so that none can pass for
/// the beginning of the next one. The order of the recipients does not count: it says nothing, and a client may
/// name them in another one when it tries again.
fn digest(mail: &Mail) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(bytes);
    };
    part(mail.sender.as_ref().map(ToString::to_string).unwrap_or_default().as_bytes());
    part(&u64::try_from(mail.recipients.len()).unwrap_or(u64::MAX).to_be_bytes());
    let mut recipients: Vec<String> = mail.recipients.iter().map(ToString::to_string).collect();
    recipients.sort_unstable();
    for recipient in &recipients {
        part(recipient.as_bytes());
    }
    part(&mail.data);
    hash.finalize().into()
}

fn not_carriable(error: &NotCarriable) -> Fault {
    let code = match error {
        NotCarriable::Header(_) => "malformed_header",
        NotCarriable::Field { .. } | NotCarriable::SignedField { .. } => "not_ascii",
        NotCarriable::LongField { .. }
        | NotCarriable::SignedLine { .. }
        | NotCarriable::Line { .. } => "too_long",
    };
    Fault::new(error.field(), code, error.to_string())
}

fn unfit(unfit: &Unfit) -> Fault {
    let code = match unfit {
        Unfit::Header(_) => "malformed_header",
        Unfit::Missing { .. } => "missing",
        Unfit::Repeated { .. } => "repeated",
        Unfit::Mailboxes { .. } => "invalid",
        Unfit::TooMany { .. } => "too_many",
        Unfit::Loop => "mail_loop",
    };
    Fault::new(unfit.field(), code, unfit.to_string())
}

fn refuse(faults: Vec<Fault>) -> Refusal {
    Refusal::bad_request(faults)
}
