//! Messages.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::from_row;
use super::page::{Listed, PAGED, Page, PageDoc, WHOLE};
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::records::EventRow;
use crate::store::{AttemptRow, MessageFile, MessageRow};

/// A message on one line of a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageLine {
    /// `msg_…`
    #[schema(value_type = String)]
    id: MessageId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// The key that it was sent with, `key_…`.
    key_id: String,
    /// `api`, `smtp` or `dashboard`.
    channel: String,
    /// Its template; none for a message that came whole.
    template: Option<String>,
    /// The template's revision.
    #[schema(value_type = Option<u64>)]
    template_revision: Option<i64>,
    /// The author: the address in From.
    from: String,
    /// The envelope's recipient.
    to: String,
    /// The subject.
    subject: String,
    /// Where it stands.
    #[schema(value_type = MessageState)]
    state: String,
    /// Why it stands there.
    reason: String,
    /// What it cost.
    credits: i64,
    /// What of that was given back.
    refunded: i64,
    /// Words to find it by.
    tags: Vec<String>,
    /// Your own facts about it.
    #[schema(value_type = BTreeMap<String, String>)]
    metadata: Map<String, Value>,
    /// When it is attempted next; none while an attempt is under way, or where it rests.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When it was accepted.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it last changed.
    #[schema(format = "date-time")]
    updated_at: String,
    /// When its recipient called it spam.
    #[schema(format = "date-time")]
    complained_at: Option<String>,
    /// The message that it sends once more.
    resent_from: Option<String>,
}

/// All that is known of a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    #[serde(flatten)]
    line: MessageLine,
    /// Octets of its content; none where that is no longer kept.
    size: Option<u32>,
    /// What happened to it, oldest first.
    events: Vec<Event>,
    /// Each attempt to hand it over, oldest first.
    attempts: Vec<Attempt>,
    /// Each plugin: name, version, digest, settings revision, verdict, reason, microseconds; of the
    /// renderer also `blank`, the variables that went out blank.
    #[schema(value_type = Vec<Object>)]
    decisions: Value,
}

/// Something that happened.
#[derive(Serialize, ToSchema)]
pub struct Event {
    /// `evt_…`
    id: String,
    /// `message.<state>`, or what else there is.
    r#type: String,
    /// Why.
    detail: String,
    /// When.
    #[schema(format = "date-time")]
    at: String,
}

/// One attempt to hand a message over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Which attempt, from 1.
    number: u32,
    /// When it began.
    #[schema(format = "date-time")]
    started_at: String,
    /// When it ended.
    #[schema(format = "date-time")]
    ended_at: String,
    /// `sandbox`, `direct`, or the name of a smarthost.
    route: String,
    /// The host that answered, or did not.
    host: Option<String>,
    /// Its address and port.
    address: Option<String>,
    /// How the connection was encrypted; none where it was not.
    tls: Option<String>,
    /// The state that it led to.
    #[schema(value_type = MessageState)]
    outcome: String,
    /// The reply's code.
    code: Option<u16>,
    /// Its enhanced status code (RFC 3463), as in `5.1.1`.
    enhanced: Option<String>,
    /// Its words, or what happened where there was no reply.
    reply: String,
    /// The dialog, line by line, without the message's content and any secret.
    conversation: String,
}

impl From<MessageFile> for Message {
    fn from(file: MessageFile) -> Self {
        let MessageFile { row, size, events, attempts, decisions } = file;
        let events = events.into_iter().map(Event::from).collect();
        let attempts = attempts.into_iter().map(Attempt::from).collect();
        Self { line: row.into(), size, events, attempts, decisions }
    }
}

from_row!(MessageRow => MessageLine {
    id, account_id, key_id, channel, template, template_revision, from, to, subject, state, reason,
    credits, refunded, tags, metadata, next_attempt_at, created_at, updated_at, complained_at, resent_from,
});
from_row!(EventRow => Event { id, r#type, detail, at });
from_row!(AttemptRow => Attempt {
    number, started_at, ended_at, route, host, address, tls, outcome, code, enhanced, reply, conversation,
});

pub type MessagePage = Page<MessageLine>;
pub type EventList = Page<Event>;
pub type AttemptList = Page<Attempt>;

impl Listed for MessageLine {
    const PAGE: PageDoc = PageDoc {
        name: "MessagePage",
        about: "Some of the messages.",
        data: "Newest first.",
        ..PAGED
    };
}

impl Listed for Event {
    const PAGE: PageDoc = PageDoc {
        name: "EventList",
        about: "What happened, oldest first.",
        data: "The events.",
        ..WHOLE
    };
}

impl Listed for Attempt {
    const PAGE: PageDoc = PageDoc {
        name: "AttemptList",
        about: "The attempts, oldest first.",
        data: "The attempts.",
        ..WHOLE
    };
}
