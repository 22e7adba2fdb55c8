//! Reads one message with its events, attempts and decisions, or what a resend needs of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Store;
use super::database::{
    Row, column, inconsistent, json_or_empty, moment, moment_or_none, parsed, sql, word,
};
use super::events::EventRow;
use super::message_pages::{COLUMNS, MessageRow, QUEUE, message_row};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Body, ReturnPath};
use crate::template::version::TemplateRevision;

/// A message with its events, attempts and decisions.
#[derive(Debug, Clone)]
pub struct MessageDetails {
    /// What lists show.
    pub row: MessageRow,
    /// Octets of its content; none where that is no longer kept.
    pub size: Option<u32>,
    /// When retention dropped its content; none where it has not.
    pub content_dropped_at: Option<Timestamp>,
    /// What happened to it, oldest first.
    pub events: Vec<EventRow>,
    /// Each attempt to hand it over, oldest first.
    pub attempts: Vec<AttemptRow>,
    /// What each plugin decided.
    pub decisions: Value,
}

/// One attempt to hand a message over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// Which attempt, from 1.
    pub number: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// `sandbox`, `direct`, or the name of a smarthost.
    pub route: String,
    /// The host that answered, or did not.
    pub host: Option<String>,
    /// Its address and port.
    pub address: Option<String>,
    /// How the connection was encrypted; none where it was not.
    pub tls: Option<String>,
    /// The state that it led to.
    pub outcome: MessageState,
    /// The SMTP reply code.
    pub code: Option<u16>,
    /// Its enhanced status code.
    pub enhanced: Option<String>,
    /// Its words, or what happened where there was no reply.
    pub reply: String,
    /// The dialog, line by line, without the message's content and any secret.
    pub conversation: String,
}

/// A message as it can be sent once more.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    pub id: MessageId,
    pub channel: Channel,
    /// None for a message that came whole.
    pub template: Option<TemplateRevision>,
    /// The envelope's sender.
    pub return_path: ReturnPath,
    /// Envelope recipient.
    pub recipient: EmailAddress,
    /// The sender's own words to find it by.
    pub tags: Vec<String>,
    /// The sender's own facts about it.
    pub metadata: Map<String, Value>,
    /// The RFC 5322 message; none where it is no longer kept.
    pub content: Option<Vec<u8>>,
}

impl Store {
    /// Those of these messages that were delivered to the sandbox inbox.
    pub async fn in_sandbox(&self, ids: &[MessageId]) -> Result<BTreeSet<MessageId>, StoreError> {
        let rows = sql("-- in_sandbox
             SELECT message_id FROM attempts
             WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
               AND route = 'sandbox' AND outcome = 'delivered'")
        .ids(ids.iter().copied())
        .all(&self.db.pages)
        .await?;
        rows.iter().map(|row| column(row, "message_id")).collect()
    }

    /// What lists show of one message; none if there is no such message.
    pub async fn message_row(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        let mut statement = sql("-- message_row\nSELECT ");
        statement.push(COLUMNS).push(" FROM messages m ").push(QUEUE);
        statement.push(" WHERE m.id = ").push_bind(id);
        statement.optional(&self.db.readers).await?.map(|row| message_row(&row)).transpose()
    }

    /// One message with its events, attempts and decisions.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn message(&self, id: MessageId) -> Result<MessageDetails, StoreError> {
        let missing = || StoreError::Missing { noun: "message", name: id.to_string() };
        let row = self.message_row(id).await?.ok_or_else(missing)?;
        let further = sql("-- message
             SELECT m.decisions, m.content_dropped_at,
                    (SELECT substr(bytes, 1, 4) FROM bodies
                     WHERE message_id = coalesce(m.body_of, m.id)) AS size
             FROM messages m WHERE m.id = $1")
        .bind(id)
        .one(&self.db.readers)
        .await?;
        let size: Option<Vec<u8>> = column(&further, "size")?;
        Ok(MessageDetails {
            row,
            size: size.and_then(|it| Body::from_stored(it).octets()),
            content_dropped_at: moment_or_none(&further, "content_dropped_at")?,
            events: self.message_events(id).await?,
            attempts: self.message_attempts(id).await?,
            decisions: self
                .identities
                .lengthen(&self.db.readers, &further, ("messages", "decisions"))
                .await?,
        })
    }

    /// What happened to a message, oldest first.
    pub async fn message_events(&self, id: MessageId) -> Result<Vec<EventRow>, StoreError> {
        let rows = sql("-- message_events
             SELECT sequence, id, type, detail, created_at FROM events WHERE subject = $1 ORDER BY sequence")
        .bind(id)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| self.event_row(row)).collect()
    }

    /// Each attempt to hand a message over, oldest first.
    pub async fn message_attempts(&self, id: MessageId) -> Result<Vec<AttemptRow>, StoreError> {
        let rows = sql(
            "-- message_attempts
             SELECT number, started_at, ended_at, route, host, address, tls, outcome, code, enhanced,
                    reply, conversation
             FROM attempts WHERE message_id = $1 ORDER BY number",
        )
        .bind(id)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(attempt_row).collect()
    }

    /// What is needed to send a message once more; none if there is no such message.
    pub async fn stored_message(&self, id: MessageId) -> Result<Option<StoredMessage>, StoreError> {
        let row = sql("-- stored_message
             SELECT m.id, m.channel, m.template_slug, m.template_revision, m.return_path, m.recipient, m.tags,
                    m.metadata, b.bytes, d.bytes AS dictionary
             FROM messages m LEFT JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
             LEFT JOIN dictionaries d ON d.id = b.dictionary
             WHERE m.id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| stored_message(&row)).transpose()
    }
}

/// The message of a row with the columns `bytes` and `dictionary`; none where they are missing or damaged.
pub fn unpacked(row: &Row) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes: Option<Vec<u8>> = column(row, "bytes")?;
    let dictionary: Option<Vec<u8>> = column(row, "dictionary")?;
    Ok(bytes.and_then(|bytes| Body::from_stored(bytes).unpack(dictionary.as_deref())))
}

fn stored_message(row: &Row) -> Result<StoredMessage, StoreError> {
    Ok(StoredMessage {
        id: column(row, "id")?,
        channel: word(row, "messages", "channel", Channel::from_name)?,
        template: template_revision(row)?,
        return_path: match column::<Option<&str>>(row, "return_path")? {
            None => ReturnPath::Author,
            Some("") => ReturnPath::Other(None),
            Some(_) => ReturnPath::Other(Some(parsed(row, "messages", "return_path")?)),
        },
        recipient: parsed(row, "messages", "recipient")?,
        tags: json_or_empty(row, "messages", "tags")?,
        metadata: json_or_empty(row, "messages", "metadata")?,
        content: unpacked(row)?,
    })
}

fn template_revision(row: &Row) -> Result<Option<TemplateRevision>, StoreError> {
    if column::<Option<&str>>(row, "template_slug")?.is_none() {
        return Ok(None);
    }
    let revision: i64 = column(row, "template_revision")?;
    let unreadable = || inconsistent("messages", "template_revision", &revision.to_string());
    Ok(Some(TemplateRevision {
        slug: parsed(row, "messages", "template_slug")?,
        revision: u64::try_from(revision).map_err(|_| unreadable())?,
    }))
}

fn attempt_row(row: &Row) -> Result<AttemptRow, StoreError> {
    let conversation: Vec<u8> = column(row, "conversation")?;
    let conversation = Body::from_stored(conversation).unpack(None);
    let unreadable = || inconsistent("attempts", "conversation", "not LZ4");
    let conversation = conversation.ok_or_else(unreadable)?;
    Ok(AttemptRow {
        number: column(row, "number")?,
        started_at: moment(row, "started_at")?,
        ended_at: moment(row, "ended_at")?,
        route: column(row, "route")?,
        host: column(row, "host")?,
        address: column(row, "address")?,
        tls: column(row, "tls")?,
        outcome: word(row, "attempts", "outcome", MessageState::from_name)?,
        code: column(row, "code")?,
        enhanced: column(row, "enhanced")?,
        reply: column(row, "reply")?,
        conversation: String::from_utf8_lossy(&conversation).into_owned(),
    })
}
