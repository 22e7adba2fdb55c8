//! Our own header fields, `X-Waxwing-…`: what they are called and what they hold.
//!
//! Letter case does not matter in names, so the keys of metadata arrive in lower case.

use serde_json::{Map, Value};

use crate::journey::accept::refusal::Fault;
use crate::mail::field::{Field, Message, unfold};
use crate::mail::raw::{OWN_PREFIX, is_own};

/// The known names, as in messages to people.
const KNOWN_HEADERS: &str = "X-Waxwing-Template, -Data, -From-Name, -Locale, -Tag, -Metadata-<key>, \
                     -Idempotency-Key, -Send-At";

/// What the fields of one message say.
#[derive(Debug, Default)]
pub struct XWaxwingHeaders {
    /// The slug of a template; without it the message is relayed unchanged.
    pub template: Option<String>,
    /// Texts that should each be a JSON object, in order.
    pub data: Vec<String>,
    /// The display name of the sender.
    pub from_name: Option<String>,
    /// The locale of the recipient.
    pub locale: Option<String>,
    /// The client's own key for the message.
    pub idempotency_key: Option<String>,
    send_at: Option<String>,
    tags: Vec<Value>,
    metadata: Map<String, Value>,
}

/// The fields there are.
enum Known {
    Template,
    Data,
    FromName,
    Locale,
    Tag,
    Metadata(String),
    IdempotencyKey,
    SendAt,
}

impl XWaxwingHeaders {
    /// Reads the fields of a message and notes their faults.
    pub fn read(message: &Message<'_>, faults: &mut Vec<Fault>) -> Self {
        let mut x_waxwing = Self::default();
        for field in message.fields.iter().filter(|field| is_own(field)) {
            match (known(field.name), text(field)) {
                (None, _) => {
                    let message = format!("is not known; known are {KNOWN_HEADERS}");
                    faults.push(Fault::new(field.name, "unknown", message));
                }
                (Some(_), None) => {
                    let message = "cannot be decoded; write UTF-8 or encoded words (RFC 2047)";
                    faults.push(Fault::new(field.name, "invalid", message));
                }
                (Some(known), Some(text)) => x_waxwing.take(known, text, field.name, faults),
            }
        }
        if message.named("X-Waxwing-Template").next().is_none() {
            needs_template(message, faults);
        }
        x_waxwing.idempotency_key = x_waxwing.idempotency_key.filter(|key| {
            let valid =
                (1..=256).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_graphic());
            if !valid {
                let message = "must be 1 to 256 visible ASCII characters";
                faults.push(Fault::new("X-Waxwing-Idempotency-Key", "invalid", message));
            }
            valid
        });
        x_waxwing
    }

    /// The fields that every message can have, under their names in the send API.
    pub fn labels(&self) -> Map<String, Value> {
        let mut labels = Map::new();
        if !self.tags.is_empty() {
            labels.insert("tags".to_owned(), Value::Array(self.tags.clone()));
        }
        if !self.metadata.is_empty() {
            labels.insert("metadata".to_owned(), Value::Object(self.metadata.clone()));
        }
        if let Some(send_at) = &self.send_at {
            labels.insert("sendAt".to_owned(), Value::String(send_at.clone()));
        }
        labels
    }

    /// Names the header fields that faults are about, not the fields of the send API that they became.
    pub fn by_header(&self, mut faults: Vec<Fault>) -> Vec<Fault> {
        for fault in &mut faults {
            fault.field = self.header_of(&fault.field);
        }
        faults
    }

    /// The header field that became this field of the send API.
    fn header_of(&self, field: &str) -> String {
        let end = field.find(['.', '[']).unwrap_or(field.len());
        let (name, rest) = field.split_at(end);
        match (name, rest) {
            ("to", _) => "RCPT".to_owned(),
            ("template", _) => "X-Waxwing-Template".to_owned(),
            ("data", "") => "X-Waxwing-Data".to_owned(),
            ("fromName", _) if self.from_name.is_some() => "X-Waxwing-From-Name".to_owned(),
            ("from" | "fromName", _) => "From".to_owned(),
            ("locale", _) => "X-Waxwing-Locale".to_owned(),
            ("replyTo", _) => "Reply-To".to_owned(),
            ("tags", _) => "X-Waxwing-Tag".to_owned(),
            ("metadata", "") => "X-Waxwing-Metadata-<key>".to_owned(),
            ("metadata", key) => {
                format!("X-Waxwing-Metadata-{}", key.strip_prefix('.').unwrap_or(key))
            }
            ("sendAt", _) => "X-Waxwing-Send-At".to_owned(),
            ("headers", name) => name.strip_prefix('.').unwrap_or(name).to_owned(),
            _ => field.to_owned(),
        }
    }

    fn take(&mut self, known: Known, text: String, name: &str, faults: &mut Vec<Fault>) {
        let before = match known {
            Known::Data => {
                self.data.push(text);
                false
            }
            Known::Tag => {
                self.tags.push(Value::String(text));
                false
            }
            Known::Template => self.template.replace(text).is_some(),
            Known::FromName => self.from_name.replace(text).is_some(),
            Known::Locale => self.locale.replace(text).is_some(),
            Known::IdempotencyKey => self.idempotency_key.replace(text).is_some(),
            Known::SendAt => self.send_at.replace(text).is_some(),
            Known::Metadata(key) => self.metadata.insert(key, Value::String(text)).is_some(),
        };
        if before {
            faults.push(Fault::new(name, "repeated", "may stand only once"));
        }
    }
}

/// Without a template these would be lost.
fn needs_template(message: &Message<'_>, faults: &mut Vec<Fault>) {
    for name in ["X-Waxwing-Data", "X-Waxwing-From-Name", "X-Waxwing-Locale"] {
        if message.named(name).next().is_some() {
            let message = "has no meaning without X-Waxwing-Template";
            faults.push(Fault::new(name, "unexpected", message));
        }
    }
}

fn known(name: &str) -> Option<Known> {
    let (_, name) = name.split_at_checked(OWN_PREFIX.len())?;
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "template" => Some(Known::Template),
        "data" => Some(Known::Data),
        "from-name" => Some(Known::FromName),
        "locale" => Some(Known::Locale),
        "tag" => Some(Known::Tag),
        "idempotency-key" => Some(Known::IdempotencyKey),
        "send-at" => Some(Known::SendAt),
        other => {
            let key = other.strip_prefix("metadata-").filter(|key| !key.is_empty());
            key.map(|key| Known::Metadata(key.to_owned()))
        }
    }
}

/// The value on one line; none if its octets, or those of an encoded word, are no text.
///
/// A tab can only be what a line was folded with, so it becomes the space that stood there.
pub fn text(field: &Field<'_>) -> Option<String> {
    let line = unfold(field.value);
    let written = str::from_utf8(&line).ok()?;
    let text = field.text();
    let lost = text.contains(char::REPLACEMENT_CHARACTER)
        && !written.contains(char::REPLACEMENT_CHARACTER);
    (!lost).then(|| text.replace('\t', " "))
}
