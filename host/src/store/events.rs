//! Writes events, each in the transaction of the change that it tells of.

use serde_json::Value;

use super::Store;
use super::database::{Row, Tx, args, column, inserts, parsed, sql};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, MessageId};
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{BounceFacts, EventRow};

/// A change of a message's state.
#[derive(Clone, Copy)]
pub struct StateChange<'a> {
    pub message: MessageId,
    pub account: AccountId,
    pub state: MessageState,
    pub reason: &'a str,
}

/// Records changes of state.
pub async fn record_changes<'a>(
    tx: &mut Tx,
    changes: impl Iterator<Item = StateChange<'a>>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = changes.map(|change| {
        args![
            EventId::new(now).to_string(),
            change.message.to_string(),
            change.account.to_string(),
            format!("message.{}", change.state),
            change.reason,
            now.millis(),
        ]
    });
    inserts(
        "-- record events
         INSERT INTO events (id, subject, account_id, type, detail, created_at)",
        rows,
        "",
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
    sql(
        "-- add_bounce_facts
         UPDATE events SET facts = json_set($2, '$.suppressed', json(CASE WHEN EXISTS (
             SELECT 1 FROM messages m JOIN suppressions s
                 ON s.account_id = m.account_id AND s.address = $4
             WHERE m.id = $1 AND (s.expires_at IS NULL OR s.expires_at > $3)) THEN 'true' ELSE 'false' END))
         WHERE subject = $1 AND type = 'message.bounced'",
    )
    .bind(message.to_string())
    .json(facts)
    .bind(now.millis())
    .bind(recipient_of(tx, message).await?)
    .run(&mut *tx)
    .await.map(|_| ())
}

/// A message's recipient as the suppression list writes it.
async fn recipient_of(tx: &mut Tx, message: MessageId) -> Result<Option<String>, StoreError> {
    let row = sql("-- recipient_of\nSELECT recipient FROM messages WHERE id = $1")
        .bind(message.to_string())
        .optional(&mut *tx)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let recipient: EmailAddress = parsed(&row, "messages", "recipient")?;
    Ok(Some(recipient.folded()))
}

/// Records an event that is no change of state, with its facts. `account` is empty for an event of the server.
pub async fn record_event(
    tx: &mut Tx,
    what: &'static str,
    subject: &str,
    account: &str,
    facts: &Value,
    now: Timestamp,
) -> Result<(), StoreError> {
    sql("-- record_event
         INSERT INTO events (id, subject, account_id, type, detail, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)")
    .bind(EventId::new(now).to_string())
    .bind(subject)
    .bind(account)
    .bind(what)
    .bind(facts.to_string())
    .bind(now.millis())
    .run(&mut *tx)
    .await
    .map(|_| ())
}

impl Store {
    /// Records an event of the server itself.
    pub async fn record_server_event(
        &self,
        what: &'static str,
        subject: &str,
        facts: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("record_server_event").await?;
        record_event(&mut tx, what, subject, "", facts, now).await?;
        tx.commit().await
    }
}

pub fn event_row(row: &Row) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        id: column(row, "id")?,
        r#type: column(row, "type")?,
        detail: column(row, "detail")?,
        at: Timestamp::from_millis(column(row, "created_at")?).rfc3339(),
    })
}
