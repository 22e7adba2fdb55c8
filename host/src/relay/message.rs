//! From a message that the dialog took to what the journey takes: a template send for each
//! recipient, or one whole message for all of them.
//!
//! Nothing is checked here that is checked over HTTP too: tags, metadata, attachments and the like
//! go through the parser of the send API.

mod attachments;
mod data;
mod fault;
mod part;
mod template;
mod whole;
mod x_waxwing_headers;

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};
use waxwing_smtp::server::dialog::{Mail, SessionSettings};

use crate::account::idempotency::Idempotency;
use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Fault, Refusal, Refused};
use crate::journey::accept::submission::{Content, Faulty, Submission};
use crate::mail::field::Message;
use crate::mail::raw::Unfit;
use fault::unfit;
use x_waxwing_headers::XWaxwingHeaders;

/// What the journey takes: a place for each recipient, and the client's own key. Where the fields
/// have faults, there is one place with all of them.
pub type Items = (Vec<Result<Submission, Faulty>>, Option<Idempotency>);

/// Reads a message, under the settings of its session.
///
/// # Errors
/// The message cannot be read, or not be relayed: all faults at once.
pub fn read(mail: Mail, settings: &SessionSettings, now: Timestamp) -> Result<Items, Refusal> {
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
        None => whole::items(&x_waxwing, mail, &settings.hostname, faults, now)?,
    };
    refuse_copies(&items, settings.message_bytes)?;
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

fn refuse(faults: Vec<Fault>) -> Refusal {
    Refusal::bad_request(faults)
}
