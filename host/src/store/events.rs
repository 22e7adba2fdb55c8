//! Writes events, each in the transaction of the change that it reports, and counts what messages came to.

mod ids;

use std::collections::BTreeMap;

use serde_json::Value;

use super::Store;
use super::database::{Row, Tx, args, column, either, inconsistent, inserts, moment, parsed, sql};
use super::event_kind::{EventKind, SubjectKind};
use crate::clock::Timestamp;
use crate::id::{AccountId, DomainId, EventId, Identifier, MessageId, TemplateId, WebhookId};
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::BounceFacts;
pub(super) use ids::EventIds;

/// What `sent` calls a message that was accepted, whatever state it began in.
pub const ACCEPTED: &str = "accepted";

/// One change of the state of a message or a domain.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub id: EventId,
    pub r#type: EventKind,
    pub detail: String,
    pub at: Timestamp,
}

/// A change of a message's state.
#[derive(Clone, Copy)]
pub struct StateChange<'a> {
    pub message: MessageId,
    pub account: AccountId,
    pub state: MessageState,
    pub reason: &'a str,
}

/// What an event is about.
#[derive(Clone, Copy)]
pub enum About<'a> {
    Identified([u8; 16]),
    /// What has no identifier.
    Named(&'a str),
}

/// Records changes of state.
pub async fn record_changes<'a>(
    tx: &mut Tx,
    changes: impl Iterator<Item = StateChange<'a>> + Clone,
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = changes.clone().map(|change| {
        args![
            change.message,
            change.account,
            EventKind::State(change.state).number(),
            change.reason,
            now.millis(),
        ]
    });
    inserts(
        "-- record events
         INSERT INTO events (subject, account_id, type, detail, created_at)",
        rows,
        "",
    )
    .run(&mut *tx)
    .await?;
    // What every message passes through would say nothing more than how many were accepted.
    let counted = changes
        .filter(|it| !matches!(it.state, MessageState::Queued | MessageState::Sending))
        .map(|it| (it.message, it.account, it.state.as_str()));
    count_sent(tx, counted).await
}

/// Counts messages by period, by what they came to and by account.
pub async fn count_sent(
    tx: &mut Tx,
    messages: impl Iterator<Item = (MessageId, AccountId, &'static str)>,
) -> Result<(), StoreError> {
    let mut counts: BTreeMap<(i64, &'static str, AccountId), i64> = BTreeMap::new();
    for (message, account, state) in messages {
        *counts.entry((message.period(), state, account)).or_default() += 1;
    }
    if counts.is_empty() {
        return Ok(());
    }
    inserts(
        "-- count_sent
         INSERT INTO sent (period, state, account_id, changes)",
        counts.into_iter().map(|((period, state, account), changes)| {
            args![period, state, account, changes]
        }),
        " ON CONFLICT (period, state, account_id) DO UPDATE SET changes = sent.changes + excluded.changes",
    )
    .run(tx)
    .await
}

/// Adds the facts to the event of a bounce. Called after the suppression list is written, because one fact is whether
/// the recipient is on it.
pub async fn add_bounce_facts(
    tx: &mut Tx,
    message: MessageId,
    facts: &BounceFacts,
    now: Timestamp,
) -> Result<(), StoreError> {
    sql(either(
        "-- add_bounce_facts
         UPDATE events SET facts = json_set($2, '$.suppressed', json(CASE WHEN EXISTS (
             SELECT 1 FROM messages m JOIN suppressions s
                 ON s.account_id = m.account_id AND s.address = $4
             WHERE m.id = $1 AND (s.expires_at IS NULL OR s.expires_at > $3)) THEN 'true' ELSE 'false' END))
         WHERE subject = $1 AND type = $5",
        "-- postgres: add_bounce_facts
         UPDATE events SET facts = left($2, -1) || ',\"suppressed\":' || CASE WHEN EXISTS (
             SELECT 1 FROM messages m JOIN suppressions s
                 ON s.account_id = m.account_id AND s.address = $4
             WHERE m.id = $1 AND (s.expires_at IS NULL OR s.expires_at > $3)) THEN 'true}' ELSE 'false}' END
         WHERE subject = $1 AND type = $5",
    ))
    .bind(message)
    .json(facts)
    .bind(now.millis())
    .bind(recipient_of(tx, message).await?)
    .bind(EventKind::State(MessageState::Bounced).number())
    .run(&mut *tx)
    .await.map(|_| ())
}

/// A message's recipient as the suppression list writes it.
async fn recipient_of(tx: &mut Tx, message: MessageId) -> Result<Option<String>, StoreError> {
    let row = sql("-- recipient_of\nSELECT recipient FROM messages WHERE id = $1")
        .bind(message)
        .optional(&mut *tx)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let recipient: EmailAddress = parsed(&row, "messages", "recipient")?;
    Ok(Some(recipient.folded()))
}

/// Records an event that is no change of state. One without an account is the server's.
pub async fn record_event(
    tx: &mut Tx,
    kind: EventKind,
    about: About<'_>,
    account: Option<AccountId>,
    detail: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (subject, name) = match about {
        About::Identified(id) => (Some(id), None),
        About::Named(name) => (None, Some(name)),
    };
    sql("-- record_event
         INSERT INTO events (subject, name, account_id, type, detail, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)")
    .bind(subject)
    .bind(name)
    .bind(account)
    .bind(kind.number())
    .bind(detail)
    .bind(now.millis())
    .run(&mut *tx)
    .await
    .map(|_| ())
}

impl About<'_> {
    pub fn of<T: Identifier>(id: T) -> Self {
        Self::Identified(id.to_bytes())
    }
}

impl Store {
    /// Records an event of the server itself, about what has a name and no identifier: a plugin's slot, a health
    /// check.
    pub async fn record_server_event(
        &self,
        kind: EventKind,
        name: &str,
        facts: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("record_server_event").await?;
        record_event(&mut tx, kind, About::Named(name), None, &facts.to_string(), now).await?;
        tx.commit().await
    }

    /// Reads an event with the columns `sequence`, `id`, `type`, `detail` and `created_at`.
    pub(super) fn event_row(&self, row: &Row) -> Result<EventRow, StoreError> {
        Ok(EventRow {
            id: self.event_ids.of(row)?,
            r#type: kind_of(row)?,
            detail: column(row, "detail")?,
            at: moment(row, "created_at")?,
        })
    }
}

/// Reads the column `type`.
pub(super) fn kind_of(row: &Row) -> Result<EventKind, StoreError> {
    let number: i64 = column(row, "type")?;
    EventKind::from_number(number)
        .ok_or_else(|| inconsistent("events", "type", &number.to_string()))
}

/// What an event of that type is about, as it is named outside of the store.
pub(super) fn subject_of(row: &Row, kind: EventKind) -> Result<String, StoreError> {
    Ok(match kind.subject() {
        SubjectKind::Message => column::<MessageId>(row, "subject")?.to_string(),
        SubjectKind::Domain => column::<DomainId>(row, "subject")?.to_string(),
        SubjectKind::Account => column::<AccountId>(row, "subject")?.to_string(),
        SubjectKind::Template => column::<TemplateId>(row, "subject")?.to_string(),
        SubjectKind::Webhook => column::<WebhookId>(row, "subject")?.to_string(),
        SubjectKind::Slot | SubjectKind::Check => column(row, "name")?,
    })
}
