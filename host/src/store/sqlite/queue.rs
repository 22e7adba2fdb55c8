//! The queue of messages that are still to be delivered: claimed in batches, with a lease.
//!
//! A lease moves a row's due time to the lease's end: if its worker dies, the row is due again by
//! itself. A worker may only settle what it still holds.

use std::collections::HashMap;

use sqlx::{QueryBuilder, Sqlite as Driver, Transaction};

use super::Sqlite;
use super::row::{column, inconsistent, parsed, to_json};
use crate::clock::Timestamp;
use crate::id::{EventId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Body, Lease, RouteChoice, Settlement};

impl Sqlite {
    /// Leases up to `limit` due messages to `owner` until `until`; each is `sending` from now on.
    ///
    /// # Errors
    /// The database failed; nothing is leased then.
    pub async fn claim(
        &self,
        owner: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        if self.next_due().await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let mut tx = self.begin().await?;
        let claimed = sqlx::query(
            "-- claim
             UPDATE queue SET lease_owner = ?1, lease_until = ?2, due_at = ?2, attempts = attempts + 1
             WHERE message_id IN
                 (SELECT message_id FROM queue WHERE due_at <= ?3 ORDER BY due_at LIMIT ?4)
             RETURNING message_id, attempts",
        )
        .bind(owner)
        .bind(until.millis())
        .bind(now.millis())
        .bind(limit)
        .fetch_all(&mut *tx)
        .await
        .map_err(StoreError::during("claim"))?;
        let mut attempts: HashMap<MessageId, u32> = HashMap::with_capacity(claimed.len());
        for row in &claimed {
            attempts.insert(parsed(row, "queue", "message_id")?, column(row, "attempts")?);
        }
        let leases = read_leases(&mut tx, &attempts).await?;
        let changes: Vec<Settlement> = leases
            .iter()
            .map(|lease| Settlement {
                message_id: lease.message_id,
                account_id: lease.account_id,
                state: MessageState::Sending,
                reason: format!("attempt {}", lease.attempt),
                next_attempt: None,
            })
            .collect();
        write_states(&mut tx, &changes, now).await?;
        tx.commit().await.map_err(StoreError::during("claim"))?;
        Ok(leases)
    }

    /// Writes how attempts ended, each with its event; what is no longer held is left alone.
    ///
    /// # Errors
    /// The database failed; nothing was written then.
    pub async fn settle(
        &self,
        owner: &str,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let mut held = Vec::with_capacity(settlements.len());
        for settlement in settlements {
            let query = match settlement.next_attempt {
                None => sqlx::query(
                    "-- settle
                     DELETE FROM queue WHERE message_id = ?1 AND lease_owner = ?2",
                )
                .bind(settlement.message_id.to_string())
                .bind(owner),
                Some(due) => sqlx::query(
                    "-- settle
                     UPDATE queue SET due_at = ?3, lease_owner = NULL, lease_until = NULL
                     WHERE message_id = ?1 AND lease_owner = ?2",
                )
                .bind(settlement.message_id.to_string())
                .bind(owner)
                .bind(due.millis()),
            };
            let done = query.execute(&mut *tx).await.map_err(StoreError::during("settle"))?;
            if done.rows_affected() == 1 {
                held.push(settlement.clone());
            }
        }
        write_states(&mut tx, &held, now).await?;
        tx.commit().await.map_err(StoreError::during("settle"))
    }

    /// Gives back what a worker before this one held: with one store there is one server.
    ///
    /// # Errors
    /// The database failed.
    pub async fn release_leases(&self, now: Timestamp) -> Result<u64, StoreError> {
        sqlx::query(
            "-- release_leases
             UPDATE queue SET due_at = ?, lease_owner = NULL, lease_until = NULL
             WHERE lease_owner IS NOT NULL",
        )
        .bind(now.millis())
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("release_leases"))
    }

    /// When the next message is due; none for an empty queue.
    ///
    /// # Errors
    /// The database failed.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("-- next_due\nSELECT min(due_at) AS due FROM queue")
            .fetch_one(&self.readers)
            .await
            .map_err(StoreError::during("next_due"))?;
        Ok(column::<Option<i64>>(&row, "due")?.map(Timestamp::from_millis))
    }

    /// How many messages wait.
    ///
    /// # Errors
    /// The database failed.
    pub async fn queue_length(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("-- queue_length\nSELECT count(*) AS waiting FROM queue")
            .fetch_one(&self.readers)
            .await
            .map_err(StoreError::during("queue_length"))?;
        column(&row, "waiting")
    }
}

async fn read_leases(
    tx: &mut Transaction<'_, Driver>,
    attempts: &HashMap<MessageId, u32>,
) -> Result<Vec<Lease>, StoreError> {
    let ids: Vec<&MessageId> = attempts.keys().collect();
    let rows = sqlx::query(
        "-- claim: read
         SELECT m.id, m.account_id, m.sender, m.recipient, m.route, m.created_at, b.bytes
         FROM messages m LEFT JOIN bodies b ON b.message_id = m.id
         WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
    )
    .bind(to_json(&ids))
    .fetch_all(&mut **tx)
    .await
    .map_err(StoreError::during("claim: read"))?;
    rows.iter()
        .map(|row| {
            let message_id = parsed(row, "messages", "id")?;
            let route: String = column(row, "route")?;
            let bytes: Option<Vec<u8>> = column(row, "bytes")?;
            Ok(Lease {
                message_id,
                account_id: parsed(row, "messages", "account_id")?,
                sender: parsed(row, "messages", "sender")?,
                recipient: parsed(row, "messages", "recipient")?,
                route: match route.as_str() {
                    "sandbox" => RouteChoice::Sandbox,
                    "configured" => RouteChoice::Configured,
                    _ => return Err(inconsistent("messages", "route", &route)),
                },
                attempt: attempts.get(&message_id).copied().unwrap_or(1),
                created_at: Timestamp::from_millis(column(row, "created_at")?),
                raw: bytes.and_then(|bytes| Body::from_stored(bytes).unpack()),
            })
        })
        .collect()
}

/// A change of state and its event, for many messages.
async fn write_states(
    tx: &mut Transaction<'_, Driver>,
    changes: &[Settlement],
    now: Timestamp,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    for change in changes {
        sqlx::query(
            "-- write_states
             UPDATE messages SET state = ?, reason = ?, updated_at = ? WHERE id = ?",
        )
        .bind(change.state.word())
        .bind(&change.reason)
        .bind(now.millis())
        .bind(change.message_id.to_string())
        .execute(&mut **tx)
        .await
        .map_err(StoreError::during("write_states"))?;
    }
    let mut query = QueryBuilder::<Driver>::new(
        "INSERT INTO events (id, message_id, account_id, type, detail, created_at) ",
    );
    query.push_values(changes, |mut b, change| {
        b.push_bind(EventId::new(now).to_string())
            .push_bind(change.message_id.to_string())
            .push_bind(change.account_id.to_string())
            .push_bind(format!("message.{}", change.state))
            .push_bind(change.reason.clone())
            .push_bind(now.millis());
    });
    query
        .build()
        .persistent(false)
        .execute(&mut **tx)
        .await
        .map(|_| ())
        .map_err(StoreError::during("write_states"))
}
