//! The queue of messages that are still to be delivered: claimed in batches, with a lease.
//!
//! A lease moves a row's due time to the lease's end: if its worker dies, the row is due again by
//! itself. A worker may only settle what it still holds.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use sqlx::sqlite::SqliteRow;
use sqlx::{Sqlite as Driver, Transaction};

use super::Sqlite;
use super::events::{self, Change};
use super::row::{column, inconsistent, parsed, to_json};
use crate::clock::Timestamp;
use crate::id::MessageId;
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
             UPDATE queue SET lease_owner = ?1, lease_until = ?2, due_at = ?2,
                              attempts = attempts + 1, first_at = coalesce(first_at, ?3)
             WHERE message_id IN
                 (SELECT message_id FROM queue WHERE due_at <= ?3 ORDER BY due_at LIMIT ?4)
             RETURNING message_id, attempts, first_at",
        )
        .bind(owner)
        .bind(until.millis())
        .bind(now.millis())
        .bind(limit)
        .fetch_all(&mut *tx)
        .await
        .map_err(StoreError::during("claim"))?;
        let (leases, unreadable) = read_leases(&mut tx, &claimed).await?;
        give_up(&mut tx, &unreadable, now).await?;
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
        let (waiting, resting): (Vec<&Settlement>, Vec<&Settlement>) =
            settlements.iter().partition(|it| it.next_attempt.is_some());
        let resting: Vec<MessageId> = resting.into_iter().map(|it| it.message_id).collect();
        let mut held = sqlx::query(
            "-- settle: at rest
             DELETE FROM queue
             WHERE lease_owner = ?1 AND message_id IN (SELECT value FROM json_each(?2))
             RETURNING message_id",
        )
        .bind(owner)
        .bind(to_json(&resting))
        .fetch_all(&mut *tx)
        .await
        .map_err(StoreError::during("settle"))?;
        if !waiting.is_empty() {
            let due = waiting.iter().map(|it| json!({"id": it.message_id, "due": it.next_attempt}));
            let updated = sqlx::query(
                "-- settle: another attempt
                 UPDATE queue SET due_at = j.value ->> 'due', lease_owner = NULL, lease_until = NULL
                 FROM json_each(?2) AS j
                 WHERE message_id = j.value ->> 'id' AND lease_owner = ?1
                 RETURNING message_id",
            )
            .bind(owner)
            .bind(to_json(&due.collect::<Vec<_>>()))
            .fetch_all(&mut *tx)
            .await
            .map_err(StoreError::during("settle"))?;
            held.extend(updated);
        }
        let held: HashSet<MessageId> = held
            .iter()
            .map(|row| parsed(row, "queue", "message_id"))
            .collect::<Result<_, StoreError>>()?;
        let changes: Vec<Settlement> =
            settlements.iter().filter(|it| held.contains(&it.message_id)).cloned().collect();
        write_states(&mut tx, &changes, now).await?;
        let failed = changes.iter().filter(|it| it.state == MessageState::Failed);
        let failed: Vec<MessageId> = failed.map(|it| it.message_id).collect();
        if !failed.is_empty() {
            refund(&mut tx, &to_json(&failed), now).await?;
        }
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

/// The messages of claimed rows, and the identifiers of those that cannot be read: one broken row must
/// not hold up the others.
async fn read_leases(
    tx: &mut Transaction<'_, Driver>,
    claimed: &[SqliteRow],
) -> Result<(Vec<Lease>, Vec<String>), StoreError> {
    let mut attempts: HashMap<String, (u32, Timestamp)> = HashMap::with_capacity(claimed.len());
    for row in claimed {
        let first_at = Timestamp::from_millis(column(row, "first_at")?);
        attempts.insert(column(row, "message_id")?, (column(row, "attempts")?, first_at));
    }
    let ids: Vec<&String> = attempts.keys().collect();
    let rows = sqlx::query(
        "-- claim: read
         SELECT m.id, m.account_id, m.sender, m.domain_id, coalesce(m.return_path, m.sender) AS return_path,
                m.recipient, m.route, b.bytes
         FROM messages m LEFT JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
         WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
    )
    .bind(to_json(&ids))
    .fetch_all(&mut **tx)
    .await
    .map_err(StoreError::during("claim: read"))?;
    let mut leases = Vec::with_capacity(rows.len());
    for row in &rows {
        let id: String = column(row, "id")?;
        let Some((attempt, first_at)) = attempts.remove(&id) else { continue };
        match lease(row, attempt, first_at) {
            Ok(lease) => leases.push(lease),
            Err(error) => {
                tracing::error!(message = id, %error, "a message cannot be read; it is given up");
                attempts.insert(id, (attempt, first_at));
            }
        }
    }
    Ok((leases, attempts.into_keys().collect()))
}

fn lease(row: &SqliteRow, attempt: u32, first_at: Timestamp) -> Result<Lease, StoreError> {
    let route: String = column(row, "route")?;
    let bytes: Option<Vec<u8>> = column(row, "bytes")?;
    Ok(Lease {
        message_id: parsed(row, "messages", "id")?,
        account_id: parsed(row, "messages", "account_id")?,
        sender: match column::<&str>(row, "return_path")? {
            "" => None,
            _ => Some(parsed(row, "messages", "return_path")?),
        },
        author: parsed(row, "messages", "sender")?,
        domain: match column::<Option<&str>>(row, "domain_id")? {
            Some(_) => Some(parsed(row, "messages", "domain_id")?),
            None => None,
        },
        recipient: parsed(row, "messages", "recipient")?,
        route: match route.as_str() {
            "sandbox" => RouteChoice::Sandbox,
            "configured" => RouteChoice::Configured,
            _ => return Err(inconsistent("messages", "route", &route)),
        },
        attempt,
        first_at,
        raw: bytes.and_then(|bytes| Body::from_stored(bytes).unpack()),
    })
}

/// Ends messages whose rows cannot be read, by their identifiers alone.
async fn give_up(
    tx: &mut Transaction<'_, Driver>,
    unreadable: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    if unreadable.is_empty() {
        return Ok(());
    }
    let reason = "the stored message cannot be read by this version of the server";
    let ids = to_json(unreadable);
    for statement in [
        "-- give_up: state
         UPDATE messages SET state = 'failed', reason = ?2, updated_at = ?3
         WHERE id IN (SELECT value FROM json_each(?1))",
        "-- give_up: event
         INSERT INTO events (id, subject, account_id, type, detail, created_at)
         SELECT 'evt_' || substr(id, 5), id, account_id, 'message.failed', ?2, ?3
         FROM messages WHERE id IN (SELECT value FROM json_each(?1))",
    ] {
        sqlx::query(statement)
            .bind(&ids)
            .bind(reason)
            .bind(now.millis())
            .execute(&mut **tx)
            .await
            .map_err(StoreError::during("give_up"))?;
    }
    sqlx::query(
        "-- give_up: queue
         DELETE FROM queue WHERE message_id IN (SELECT value FROM json_each(?))",
    )
    .bind(&ids)
    .execute(&mut **tx)
    .await
    .map_err(StoreError::during("give_up"))?;
    refund(tx, &ids, now).await
}

/// Gives back the price of messages that have failed, which is to say never left; once, by the
/// ledger's own constraint.
async fn refund(
    tx: &mut Transaction<'_, Driver>,
    ids: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- refund
         INSERT INTO ledger (account_id, kind, amount, message_id, reason, created_at)
         SELECT account_id, 'refund', credits, id, 'the message never left', ?2
         FROM messages
         WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'failed' AND credits > 0
         ON CONFLICT (message_id, kind) DO NOTHING",
    )
    .bind(ids)
    .bind(now.millis())
    .execute(&mut **tx)
    .await
    .map(|_| ())
    .map_err(StoreError::during("refund"))
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
    let states = changes
        .iter()
        .map(|it| json!({"id": it.message_id, "state": it.state, "reason": it.reason}));
    sqlx::query(
        "-- write_states
         UPDATE messages SET state = j.value ->> 'state', reason = j.value ->> 'reason',
                             updated_at = ?2
         FROM json_each(?1) AS j WHERE messages.id = j.value ->> 'id'",
    )
    .bind(to_json(&states.collect::<Vec<_>>()))
    .bind(now.millis())
    .execute(&mut **tx)
    .await
    .map_err(StoreError::during("write_states"))?;
    let changes = changes.iter().map(|change| Change {
        message: change.message_id,
        account: change.account_id,
        state: change.state,
        reason: &change.reason,
    });
    events::record(tx, changes, now).await
}
