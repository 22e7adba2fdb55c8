//! What one message of a request says, parsed and valid: `{to, type, template, data, …}`, or a
//! message that is whole already and only wants to be relayed.

mod attachments;
mod fields;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::json::object::ObjectText;
use super::json::{Item, not_an_object};
use super::refusal::Fault;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::mail::mime::Attachment;
use crate::mail::raw::RawMessage;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::store::records::ReturnPath;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::version::{TemplateRevision, TemplateVersion};
use fields::Fields;

const MAX_NAME: usize = 200;

/// A message that a client wants to send; all of its fields are valid.
#[derive(Debug, Clone)]
pub struct Submission {
    /// How the message came.
    pub channel: Channel,
    pub to: EmailAddress,
    /// What it is made of.
    pub content: Content,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The client's own facts about it.
    pub metadata: Map<String, Value>,
    /// When it may leave.
    pub send_at: Option<Timestamp>,
    /// What was accepted and ignored.
    pub warnings: Vec<String>,
}

/// What a message is made of.
#[derive(Debug, Clone)]
pub enum Content {
    /// A template and its variables; the messages of one SMTP transaction share them.
    Filled(Arc<Filled>),
    /// A message that is whole; those of one request share it.
    Raw(Arc<Raw>),
    /// A message that was sent before.
    Again(Arc<Again>),
}

/// A template and what fills it.
#[derive(Debug, Clone)]
pub struct Filled {
    pub template: Slug,
    pub data: ObjectText,
    /// The locale of its recipient.
    pub locale: Option<LocaleTag>,
    /// The sender's display name.
    pub from_name: Option<String>,
    /// The sender's address.
    pub from: Option<EmailAddress>,
    /// Where answers go.
    pub reply_to: Option<EmailAddress>,
    /// Files that go with it.
    pub attachments: Vec<Attachment>,
    /// Further headers, from the safe list.
    pub headers: Vec<(String, String)>,
    /// An author tries a draft.
    pub trial: Option<Trial>,
}

/// What is sent instead of the published version.
#[derive(Debug, Clone)]
pub struct Trial {
    pub version: Arc<TemplateVersion>,
    pub reach: TrialReach,
}

/// Where an author's test goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialReach {
    /// Into the sandbox inbox, free of charge.
    Sandbox,
    /// To its recipient, who has agreed, as any other message; its subject says that it is a test.
    Recipient,
}

/// What a client says of a message beside its content; valid.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    tags: Vec<String>,
    metadata: Map<String, Value>,
    send_at: Option<Timestamp>,
}

/// A message that is relayed as it is.
#[derive(Debug)]
pub struct Raw {
    /// Where bounces go: the envelope's sender, or nowhere.
    pub return_path: Option<EmailAddress>,
    pub message: RawMessage,
}

/// A message of the account that is sent once more: the same content under a new identifier.
#[derive(Debug)]
pub struct Again {
    /// The message that it was.
    pub id: MessageId,
    /// None for one that came whole.
    pub template: Option<TemplateRevision>,
    /// Where bounces go.
    pub return_path: ReturnPath,
    /// The content, without what belonged to its first sending.
    pub message: RawMessage,
}

/// A submission whose fields have faults, with what is needed to look for more of them.
#[derive(Debug)]
pub struct Faulty {
    /// All faults of the fields.
    pub faults: Vec<Fault>,
    /// The template, if that field is valid.
    pub template: Option<Slug>,
    /// The variables, if that field is valid.
    pub data: Option<ObjectText>,
}

impl Submission {
    /// Parses one message of a request.
    ///
    /// # Errors
    /// All faults of its fields at once.
    pub fn parse(channel: Channel, item: impl Into<Item>, now: Timestamp) -> Result<Self, Faulty> {
        let (fields, data) = match item.into() {
            Item::Object { fields, data } => (fields, data),
            Item::Other(found) => {
                let faults = vec![not_an_object("a message", &found)];
                return Err(Faulty { faults, template: None, data: None });
            }
        };
        let mut fields = Fields::new(fields);
        let to = fields.required("to", Fields::address);
        fields.required("type", |it, value| it.exactly(value, "type", "EMAIL"));
        let template =
            fields.required("template", |it, value| it.parsed::<Slug>(value, "template"));
        let data = data.or_else(|| {
            let object = fields.required("data", |it, value| it.object(value, "data"));
            object.map(|it| ObjectText::from(&it))
        });
        let from_name =
            fields.optional("fromName", |it, value| it.name(value, "fromName", MAX_NAME));
        let locale = fields.optional("locale", |it, value| it.parsed(value, "locale"));
        let from = fields.optional("from", |it, value| it.parsed(value, "from"));
        let reply_to = fields.optional("replyTo", |it, value| it.parsed(value, "replyTo"));
        let Labels { tags, metadata, send_at } = Labels::take(&mut fields, now);
        let attachments = fields.optional("attachments", attachments::parse).unwrap_or_default();
        let headers = fields.optional("headers", Fields::headers).unwrap_or_default();
        let (faults, warnings) = fields.finish();
        match (to, template, data) {
            (Some(to), Some(template), Some(data)) if faults.is_empty() => Ok(Self {
                channel,
                to,
                content: Content::Filled(Arc::new(Filled {
                    template,
                    data,
                    locale,
                    trial: None,
                    from_name: from_name.filter(|name: &String| !name.trim().is_empty()),
                    from,
                    reply_to,
                    attachments,
                    headers,
                })),
                tags,
                metadata,
                send_at,
                warnings,
            }),
            (_, template, data) => Err(Faulty { faults, template, data }),
        }
    }

    /// A message that the client has made itself; the recipients of one transaction share its content.
    #[must_use]
    pub fn ready_made(channel: Channel, to: EmailAddress, raw: Arc<Raw>, labels: Labels) -> Self {
        let Labels { tags, metadata, send_at } = labels;
        let content = Content::Raw(raw);
        Self { channel, to, content, tags, metadata, send_at, warnings: Vec::new() }
    }
}

impl Labels {
    /// Parses what a listener read of them, under the names of the send API: `tags`, `metadata`, `sendAt`.
    ///
    /// # Errors
    /// All faults at once, under those names.
    pub fn parse(written: Map<String, Value>, now: Timestamp) -> Result<Self, Vec<Fault>> {
        let mut fields = Fields::new(written);
        let labels = Self::take(&mut fields, now);
        let (faults, _) = fields.finish();
        if faults.is_empty() { Ok(labels) } else { Err(faults) }
    }

    fn take(fields: &mut Fields, now: Timestamp) -> Self {
        Self {
            tags: fields.optional("tags", Fields::tags).unwrap_or_default(),
            metadata: fields.optional("metadata", Fields::metadata).unwrap_or_default(),
            send_at: fields.optional("sendAt", |it, value| it.send_at(value, now)),
        }
    }
}

#[cfg(test)]
mod tests;
