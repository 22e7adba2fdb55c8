//! A message that asks for a template: what it holds becomes the body of the send API.

use serde_json::{Map, Value, json};

use super::fault::unfit;
use super::x_waxwing_headers::{XWaxwingHeaders, text};
use super::{attachments, data};
use crate::clock::Timestamp;
use crate::journey::accept::json::object::ObjectText;
use crate::journey::accept::refusal::Fault;
use crate::journey::accept::submission::{Content, Faulty, Submission};
use crate::mail::field::Message;
use crate::mail::mailbox::Mailbox;
use crate::mail::raw::only;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;

/// The message's own fields that go with the template's message.
const COPIED: [&str; 4] =
    ["In-Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post", "References"];

/// A template send, as a message asks for it.
#[derive(Debug)]
pub struct Asked {
    body: Map<String, Value>,
    /// The variables; none where they are malformed.
    data: Option<Map<String, Value>>,
}

/// Reads a message that names the template `slug`, and notes its faults.
pub fn asked(
    message: &Message<'_>,
    slug: String,
    x_waxwing: &mut XWaxwingHeaders,
    faults: &mut Vec<Fault>,
) -> Asked {
    let found = attachments::read(message, faults);
    let data = variables(found.data, x_waxwing, faults);
    let from = one(message, "From", faults);
    let reply_to = one(message, "Reply-To", faults);
    let mut body = Map::new();
    body.insert("template".to_owned(), Value::String(slug));
    body.insert("data".to_owned(), Value::Object(data.clone().unwrap_or_default()));
    if let Some(name) = x_waxwing.from_name.clone().or(from.as_ref().and_then(|it| it.name.clone()))
    {
        body.insert("fromName".to_owned(), Value::String(name));
    }
    if let Some(locale) = x_waxwing.locale.clone() {
        body.insert("locale".to_owned(), Value::String(locale));
    }
    for (name, mailbox) in [("from", from), ("replyTo", reply_to)] {
        if let Some(Mailbox { address, .. }) = mailbox {
            body.insert(name.to_owned(), Value::String(address.to_string()));
        }
    }
    if !found.attachments.is_empty() {
        body.insert("attachments".to_owned(), Value::Array(found.attachments));
    }
    let mut headers = Map::new();
    for name in COPIED {
        let value = message.named(name).next().and_then(text);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            headers.insert(name.to_owned(), Value::String(value));
        }
    }
    if !headers.is_empty() {
        body.insert("headers".to_owned(), Value::Object(headers));
    }
    Asked { body, data }
}

impl Asked {
    /// The same send to each recipient; or, in one place, all faults.
    pub fn items(
        mut self,
        x_waxwing: &XWaxwingHeaders,
        recipients: Vec<EmailAddress>,
        mut faults: Vec<Fault>,
        now: Timestamp,
    ) -> Vec<Result<Submission, Faulty>> {
        self.body.extend(x_waxwing.labels());
        let parsed = parse(self.body, &recipients, now, x_waxwing);
        let template = match parsed {
            Ok(submission) if faults.is_empty() => return each(&submission, recipients),
            Ok(Submission { content: Content::Filled(filled), .. }) => {
                Some(filled.template.clone())
            }
            Ok(Submission { content: Content::Raw(_) | Content::Again(_), .. }) => None,
            Err(Faulty { faults: more, template, .. }) => {
                faults.extend(more);
                template
            }
        };
        let data = self.data.as_ref().map(ObjectText::from);
        vec![Err(Faulty { faults, template, data })]
    }
}

/// What the header says is put over what the part says.
fn variables(
    part: Option<Result<Map<String, Value>, ()>>,
    x_waxwing: &mut XWaxwingHeaders,
    faults: &mut Vec<Fault>,
) -> Option<Map<String, Value>> {
    let mut merged = part.unwrap_or_else(|| Ok(Map::new())).ok();
    for text in std::mem::take(&mut x_waxwing.data) {
        match (data::object(text.as_bytes(), "the value", faults), &mut merged) {
            (Some(object), Some(merged)) => data::merge(merged, object),
            (Some(_), None) => {}
            (None, merged) => *merged = None,
        }
    }
    merged
}

/// The one mailbox of a field; none where the field is absent or faulty.
fn one(message: &Message<'_>, field: &'static str, faults: &mut Vec<Fault>) -> Option<Mailbox> {
    let mut list = only(message, field)
        .unwrap_or_else(|error| {
            faults.push(unfit(&error));
            None
        })?
        .into_iter();
    let first = list.next();
    if list.next().is_some() {
        faults.push(Fault::new(field, "too_many", "must hold exactly one address"));
        return None;
    }
    first
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
    Submission::parse(Channel::Smtp, Value::Object(body), now)
        .map_err(|faulty| Faulty { faults: x_waxwing.by_header(faulty.faults), ..faulty })
}
