//! Answers about messages, their events and their delivery attempts.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::from_row;
use super::page::{Listed, PAGED, Page, PageDoc, WHOLE};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, KeyId, MessageId};
use crate::message::state::MessageState;
use crate::store::{AttemptRow, EventRow, MessageDetails, MessageRow};

/// A message in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageSummary {
    /// `msg_…`
    #[schema(value_type = String)]
    id: MessageId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// The key that it was sent with, `key_…`.
    #[schema(value_type = String)]
    key_id: KeyId,
    /// `api`, `smtp`, or `server` for what the server has written itself; nobody but its recipient sees that.
    channel: &'static str,
    /// The slug of the template; none for a message that the client sent as a complete RFC 5322 message.
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
    /// The state.
    state: MessageState,
    /// Why the message is in that state, as in the last reply of a server.
    reason: String,
    /// Credits that the message cost.
    credits: i64,
    /// Credits of these that were refunded.
    refunded: i64,
    /// Tags to find the message by.
    tags: Vec<String>,
    /// Metadata of the sender.
    #[schema(value_type = BTreeMap<String, String>)]
    metadata: Map<String, Value>,
    /// When the next attempt is due; none while an attempt is under way, and in a final state.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When the message was accepted.
    #[schema(format = "date-time")]
    created_at: String,
    /// When the state last changed.
    #[schema(format = "date-time")]
    updated_at: String,
    /// When the recipient complained about the message as spam.
    #[schema(format = "date-time")]
    complained_at: Option<String>,
    /// The message that this one resends.
    #[schema(value_type = Option<String>)]
    resent_from: Option<MessageId>,
}

/// All that is known of a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    #[serde(flatten)]
    summary: MessageSummary,
    /// Octets of the content; none where the content is no longer kept.
    size: Option<u32>,
    /// When the content was dropped, by `[retention] content_days`.
    #[schema(format = "date-time")]
    content_dropped_at: Option<String>,
    /// Events, oldest first.
    events: Vec<Event>,
    /// Delivery attempts, oldest first.
    attempts: Vec<Attempt>,
    /// Each plugin: name, version, digest, settings revision, verdict, reason, microseconds; of the
    /// renderer also `blank`, the variables that went out blank.
    #[schema(value_type = Vec<Object>)]
    decisions: Value,
}

/// An event of a message.
#[derive(Serialize, ToSchema)]
pub struct Event {
    /// `evt_…`
    #[schema(value_type = String)]
    id: EventId,
    /// `message.<state>`, or another type of event.
    r#type: &'static str,
    /// The reason.
    detail: String,
    /// Time of the event.
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
    /// The host that was contacted.
    host: Option<String>,
    /// Address and port of that host.
    address: Option<String>,
    /// How the connection was encrypted; none where it was not.
    tls: Option<String>,
    /// The state of the message after the attempt.
    outcome: MessageState,
    /// The code of the SMTP reply.
    code: Option<u16>,
    /// The enhanced status code (RFC 3463), as in `5.1.1`.
    enhanced: Option<String>,
    /// The text of the reply, or what happened where there was none.
    reply: String,
    /// The SMTP transcript, line by line, without the content of the message and without secrets.
    conversation: String,
}

impl From<MessageDetails> for Message {
    fn from(details: MessageDetails) -> Self {
        let MessageDetails { row, size, content_dropped_at, events, attempts, decisions } = details;
        let events = events.into_iter().map(Event::from).collect();
        let attempts = attempts.into_iter().map(Attempt::from).collect();
        let content_dropped_at = content_dropped_at.map(Timestamp::rfc3339);
        Self { summary: row.into(), size, content_dropped_at, events, attempts, decisions }
    }
}

from_row!(row: MessageRow => MessageSummary {
    id, account_id, key_id, channel: row.channel.as_str(), template, template_revision, from, to, subject, state,
    reason, credits: row.credits.0, refunded: row.refunded.0, tags, metadata,
    next_attempt_at: row.next_attempt_at.map(Timestamp::rfc3339), created_at: row.created_at.rfc3339(),
    updated_at: row.updated_at.rfc3339(), complained_at: row.complained_at.map(Timestamp::rfc3339), resent_from,
});
from_row!(row: EventRow => Event { id, r#type: row.r#type.as_str(), detail, at: row.at.rfc3339() });
from_row!(row: AttemptRow => Attempt {
    number, started_at: row.started_at.rfc3339(), ended_at: row.ended_at.rfc3339(), route, host, address, tls,
    outcome, code, enhanced, reply, conversation,
});

pub type MessagePage = Page<MessageSummary>;
pub type EventList = Page<Event>;
pub type AttemptList = Page<Attempt>;

impl Listed for MessageSummary {
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
