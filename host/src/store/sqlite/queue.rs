//! The queue of messages that are still to be delivered: claimed in batches, with a lease.
//!
//! A lease moves a row's due time to the lease's end: if its worker dies, the row is due again by
//! itself. A worker may only settle what it still holds.

use std::collections::{BTreeSet, HashMap};

use sqlx::sqlite::SqliteRow;
use sqlx::{Sqlite as Driver, Transaction};

use super::Sqlite;
use super::events::Change;
use super::row::{column, inconsistent, parsed, to_json};
use super::settle::{give_up, write_states};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Body, Due, Lease, RouteChoice};

impl Sqlite {
    /// Messages that are due, the longest waiting first, behind `after`; those of the `passed` lanes
    /// are passed over.
    ///
    /// # Errors
    /// The database failed.
    pub async fn due(
        &self,
        now: Timestamp,
        after: Option<&Due>,
        passed: &BTreeSet<String>,
        limit: u32,
    ) -> Result<Vec<Due>, StoreError> {
        let (since, id) = match after {
            Some(due) => (due.due_at.millis(), due.message_id.to_string()),
            None => (i64::MIN, String::new()),
        };
        let rows = sqlx::query(
            "-- due
             SELECT message_id, account_id, lane, due_at FROM queue
             WHERE due_at <= ?1 AND due_at >= ?2 AND (due_at > ?2 OR message_id > ?3)
               AND lane NOT IN (SELECT value FROM json_each(?4))
             ORDER BY due_at, message_id LIMIT ?5",
        )
        .bind(now.millis())
        .bind(since)
        .bind(id)
        .bind(to_json(passed))
        .bind(limit)
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("due"))?;
        rows.iter()
            .map(|row| {
                Ok(Due {
                    message_id: parsed(row, "queue", "message_id")?,
                    account_id: parsed(row, "queue", "account_id")?,
                    lane: column(row, "lane")?,
                    due_at: Timestamp::from_millis(column(row, "due_at")?),
                })
            })
            .collect()
    }

    /// Leases those of `wanted` that are still due to `owner` until `until`; each is `sending` from
    /// now on.
    ///
    /// # Errors
    /// The database failed; nothing is leased then.
    pub async fn lease(
        &self,
        owner: &str,
        wanted: &[MessageId],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        let mut tx = self.begin().await?;
        let claimed = sqlx::query(
            "-- lease
             UPDATE queue SET lease_owner = ?1, lease_until = ?2, due_at = ?2,
                              attempts = attempts + 1, first_at = coalesce(first_at, ?3)
             WHERE message_id IN (SELECT value FROM json_each(?4)) AND due_at <= ?3
             RETURNING message_id, attempts, first_at",
        )
        .bind(owner)
        .bind(until.millis())
        .bind(now.millis())
        .bind(to_json(wanted))
        .fetch_all(&mut *tx)
        .await
        .map_err(StoreError::during("lease"))?;
        let (leases, unreadable) = read_leases(&mut tx, &claimed).await?;
        give_up(&mut tx, &unreadable, now).await?;
        let reasons: Vec<String> =
            leases.iter().map(|lease| format!("attempt {}", lease.attempt)).collect();
        let changes: Vec<Change<'_>> = leases
            .iter()
            .zip(&reasons)
            .map(|(lease, reason)| Change {
                message: lease.message_id,
                account: lease.account_id,
                state: MessageState::Sending,
                reason,
            })
            .collect();
        write_states(&mut tx, &changes, now).await?;
        tx.commit().await.map_err(StoreError::during("lease"))?;
        Ok(leases)
    }

    /// The RFC 5322 message of a lease; none when its stored body is missing or damaged.
    ///
    /// # Errors
    /// The database failed.
    pub async fn body(&self, id: MessageId) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sqlx::query(
            "-- body
             SELECT b.bytes FROM messages m JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
             WHERE m.id = ?",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("body"))?;
        let bytes = row.map(|row| column::<Vec<u8>>(&row, "bytes")).transpose()?;
        Ok(bytes.and_then(|bytes| Body::from_stored(bytes).unpack()))
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

    /// Makes messages due again as early as they would be if the clock had never shown a later time
    /// than `now`. Answers how many.
    ///
    /// # Errors
    /// The database failed.
    pub async fn mend_due_times(&self, now: Timestamp) -> Result<u64, StoreError> {
        sqlx::query(
            "-- mend_due_times
             UPDATE queue SET due_at = ?1 + max(0, due_at - m.updated_at),
                              first_at = min(first_at, ?1)
             FROM messages m
             WHERE m.id = queue.message_id AND m.updated_at > ?1 AND m.state IN ('queued', 'deferred')",
        )
        .bind(now.millis())
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("mend_due_times"))
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
        "-- lease: read
         SELECT m.id, m.account_id, m.sender, m.domain_id, coalesce(m.return_path, m.sender) AS return_path,
                m.recipient, m.route, substr(b.bytes, 1, 4) AS size
         FROM messages m LEFT JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
         WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
    )
    .bind(to_json(&ids))
    .fetch_all(&mut **tx)
    .await
    .map_err(StoreError::during("lease: read"))?;
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
    let size: Option<Vec<u8>> = column(row, "size")?;
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
        octets: size.and_then(|it| Body::octets_of(&it)),
    })
}
