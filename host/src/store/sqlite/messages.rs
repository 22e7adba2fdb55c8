//! Messages as lists and scripts see them, and decisions about sends that became none.

use std::sync::Arc;

use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use super::Sqlite;
use super::events::event_row;
use super::row::{column, json};
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::store::StoreError;
use crate::store::records::{Answer, Idempotency, MessageRow};

/// A refusal, with what the plugins decided.
#[derive(Debug, Clone)]
pub struct RefusalRecord {
    /// Its identifier, which the client is told.
    pub id: DecisionId,
    /// Who was refused.
    pub account_id: AccountId,
    /// The refusal's code.
    pub code: &'static str,
    /// What each plugin decided, as JSON.
    pub plugins: Arc<Value>,
}

impl Sqlite {
    /// The newest messages of an account, newest first.
    ///
    /// # Errors
    /// The database failed.
    pub async fn messages(
        &self,
        account: AccountId,
        limit: u32,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let rows = sqlx::query(
            "-- messages
             SELECT m.id, m.account_id, m.template_slug, m.sender, m.recipient, m.subject, m.state,
                    m.reason, m.credits, m.created_at, coalesce(d.plugins, '[]') AS plugins, q.due_at
             FROM messages m LEFT JOIN decisions d ON d.message_id = m.id
             LEFT JOIN queue q ON q.message_id = m.id AND q.lease_owner IS NULL
             WHERE m.account_id = ? ORDER BY m.id DESC LIMIT ?",
        )
        .bind(account.to_string())
        .bind(limit)
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("messages"))?;
        rows.iter().map(message_row).collect()
    }

    /// One message with its events.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn message(&self, id: MessageId) -> Result<MessageRow, StoreError> {
        let row = sqlx::query(
            "-- message
             SELECT m.id, m.account_id, m.template_slug, m.sender, m.recipient, m.subject, m.state,
                    m.reason, m.credits, m.created_at, coalesce(d.plugins, '[]') AS plugins, q.due_at
             FROM messages m LEFT JOIN decisions d ON d.message_id = m.id
             LEFT JOIN queue q ON q.message_id = m.id AND q.lease_owner IS NULL
             WHERE m.id = ?",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("message"))?
        .ok_or_else(|| StoreError::Missing { noun: "message", name: id.to_string() })?;
        let events = sqlx::query(
            "-- message: events
             SELECT id, type, detail, created_at FROM events WHERE subject = ? ORDER BY sequence",
        )
        .bind(id.to_string())
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("message: events"))?;
        let mut message = message_row(&row)?;
        message.events = events.iter().map(event_row).collect::<Result<_, StoreError>>()?;
        Ok(message)
    }

    /// What was answered to that key before; none if it is new or its 24 hours are over.
    /// The inner none means that the body was another one.
    ///
    /// # Errors
    /// The database failed.
    pub async fn kept_answer(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
        now: Timestamp,
    ) -> Result<Option<Option<Vec<Answer>>>, StoreError> {
        let row = sqlx::query(
            "-- kept_answer
             SELECT body_hash, answer FROM idempotency
             WHERE account_id = ? AND key = ? AND expires_at > ?",
        )
        .bind(account.to_string())
        .bind(&idempotency.key)
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("kept_answer"))?;
        let Some(row) = row else { return Ok(None) };
        let hash: Vec<u8> = column(&row, "body_hash")?;
        if hash[..] != idempotency.body_hash {
            return Ok(Some(None));
        }
        json(&row, "idempotency", "answer").map(|answers| Some(Some(answers)))
    }

    /// Records refusals.
    ///
    /// # Errors
    /// The database failed.
    pub async fn record_refusals(
        &self,
        refusals: &[RefusalRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for refusal in refusals {
            sqlx::query(
                "-- record_refusals
                 INSERT INTO decisions (id, account_id, message_id, outcome, plugins, created_at)
                 VALUES (?, ?, NULL, ?, ?, ?)",
            )
            .bind(refusal.id.to_string())
            .bind(refusal.account_id.to_string())
            .bind(refusal.code)
            .bind(refusal.plugins.to_string())
            .bind(now.millis())
            .execute(&mut *tx)
            .await
            .map_err(StoreError::during("record_refusals"))?;
        }
        tx.commit().await.map_err(StoreError::during("record_refusals"))
    }

    /// Puts an address on an account's suppression list.
    ///
    /// # Errors
    /// The database failed.
    pub async fn suppress(
        &self,
        account: AccountId,
        address: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "-- suppress
             INSERT INTO suppressions (account_id, address, reason, created_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (account_id, address) DO UPDATE SET reason = excluded.reason",
        )
        .bind(account.to_string())
        .bind(address)
        .bind(reason)
        .bind(now.millis())
        .execute(&self.writer)
        .await
        .map(|_| ())
        .map_err(StoreError::during("suppress"))
    }
}

fn message_row(row: &SqliteRow) -> Result<MessageRow, StoreError> {
    let due: Option<i64> = column(row, "due_at")?;
    Ok(MessageRow {
        id: column(row, "id")?,
        account_id: column(row, "account_id")?,
        template: column(row, "template_slug")?,
        from: column(row, "sender")?,
        to: column(row, "recipient")?,
        subject: column(row, "subject")?,
        state: column(row, "state")?,
        reason: column(row, "reason")?,
        credits: column(row, "credits")?,
        next_attempt_at: due.map(|due| Timestamp::from_millis(due).rfc3339()),
        created_at: Timestamp::from_millis(column(row, "created_at")?).rfc3339(),
        events: Vec::new(),
        decisions: json(row, "decisions", "plugins")?,
    })
}
