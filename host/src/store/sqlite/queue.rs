//! The queue of messages that are still to be delivered: claimed in batches, with a lease.
//!
//! A lease moves a row's due time to the lease's end: if its worker dies, the row is due again by
//! itself. A worker may only settle what it still holds.

use std::collections::{BTreeSet, HashMap};

use sqlx::sqlite::SqliteRow;
use sqlx::{Sqlite as Driver, Transaction};

use super::Sqlite;
use super::events::Change;
use super::hold_back::hold_back;
use super::row::{column, inconsistent, parsed, to_json};
use super::settle::{give_up, write_states};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Body, Due, Lease, Position, RouteChoice};

/// Rows that one look at the queue passes over at most.
const SPAN: u32 = 20_000;

fn place(after: Option<&Position>) -> (i64, String) {
    match after {
        Some(after) => (after.due_at.millis(), after.message_id.to_string()),
        None => (i64::MIN, String::new()),
    }
}

impl Sqlite {
    /// Messages that are due, the longest waiting first, behind `after`; those of the `passed` lanes
    /// are passed over. No more than 20,000 rows are looked at: where fewer than `limit` come,
    /// [`Self::end_of_span`] says where to go on.
    ///
    /// # Errors
    /// The database failed.
    pub async fn due(
        &self,
        now: Timestamp,
        after: Option<&Position>,
        passed: &BTreeSet<String>,
        limit: u32,
    ) -> Result<Vec<Due>, StoreError> {
        let (since, id) = place(after);
        let rows = sqlx::query(
            "-- due
             SELECT q.message_id, q.account_id, q.is_wanted, q.octets, s.lane, s.due_at
             FROM (SELECT message_id, lane, due_at FROM queue
                   WHERE due_at <= ?1 AND (due_at, message_id) > (?2, ?3)
                   ORDER BY due_at, message_id LIMIT ?6) s
             CROSS JOIN queue q ON q.message_id = s.message_id
             WHERE s.lane NOT IN (SELECT value FROM json_each(?4)) LIMIT ?5",
        )
        .bind(now.millis())
        .bind(since)
        .bind(id)
        .bind(to_json(passed))
        .bind(limit)
        .bind(SPAN)
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("due"))?;
        rows.iter().map(due).collect()
    }

    /// The same for messages that may only reach the sandbox inbox.
    ///
    /// # Errors
    /// The database failed.
    pub async fn due_in_sandbox(&self, now: Timestamp, limit: u32) -> Result<Vec<Due>, StoreError> {
        let rows = sqlx::query(
            "-- due_in_sandbox
             SELECT message_id, account_id, is_wanted, octets, lane, due_at FROM queue
             WHERE lane = 'sandbox' AND due_at <= ? ORDER BY due_at, message_id LIMIT ?",
        )
        .bind(now.millis())
        .bind(limit)
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("due_in_sandbox"))?;
        rows.iter().map(due).collect()
    }

    /// The last of the rows that [`Self::due`] looks at; none where it has seen all that is due.
    ///
    /// # Errors
    /// The database failed.
    pub async fn end_of_span(
        &self,
        now: Timestamp,
        after: Option<&Position>,
    ) -> Result<Option<Position>, StoreError> {
        let (since, id) = place(after);
        let row = sqlx::query(
            "-- end_of_span
             SELECT due_at, message_id FROM queue
             WHERE due_at <= ?1 AND (due_at, message_id) > (?2, ?3)
             ORDER BY due_at, message_id LIMIT 1 OFFSET ?4",
        )
        .bind(now.millis())
        .bind(since)
        .bind(id)
        .bind(SPAN - 1)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("end_of_span"))?;
        row.map(|row| {
            Ok(Position {
                due_at: Timestamp::from_millis(column(&row, "due_at")?),
                message_id: parsed(&row, "queue", "message_id")?,
            })
        })
        .transpose()
    }

    /// Leases those of `wanted` that are still due to `owner` until `until`; each is `sending` from
    /// now on. Not what may not be sent any more: to suppressed recipients, of suspended accounts.
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
                              attempts = attempts + 1, first_at = coalesce(first_at, ?3),
                              waits_for = NULL, is_wanted = 0
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
        let leases = hold_back(&mut tx, leases, now).await?;
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

    /// Whether the newest event is of the future: the clock was ahead when it was written.
    ///
    /// # Errors
    /// The database failed.
    pub async fn is_ahead_of(&self, now: Timestamp) -> Result<bool, StoreError> {
        let newest = sqlx::query(
            "-- is_ahead_of
             SELECT created_at FROM events ORDER BY sequence DESC LIMIT 1",
        )
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("is_ahead_of"))?;
        let newest = newest.map(|row| column::<i64>(&row, "created_at")).transpose()?;
        Ok(newest.is_some_and(|newest| newest > now.millis()))
    }

    /// Makes messages due again as early as they would be if the clock had never shown a later time
    /// than `now`. Answers how many. It looks at the whole queue.
    ///
    /// # Errors
    /// The database failed.
    pub async fn mend_due_times(&self, now: Timestamp) -> Result<u64, StoreError> {
        // CROSS JOIN: from the queue to its messages, not through all messages.
        sqlx::query(
            "-- mend_due_times
             UPDATE queue SET due_at = ahead.due_at, first_at = min(queue.first_at, ?1)
             FROM (SELECT q.message_id, ?1 + max(0, q.due_at - m.updated_at) AS due_at
                   FROM queue q CROSS JOIN messages m ON m.id = q.message_id
                   WHERE m.updated_at > ?1 AND q.lease_owner IS NULL AND m.state <> 'scheduled') AS ahead
             WHERE queue.message_id = ahead.message_id",
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

fn due(row: &SqliteRow) -> Result<Due, StoreError> {
    Ok(Due {
        message_id: parsed(row, "queue", "message_id")?,
        account_id: parsed(row, "queue", "account_id")?,
        lane: column(row, "lane")?,
        due_at: Timestamp::from_millis(column(row, "due_at")?),
        is_wanted: column(row, "is_wanted")?,
        octets: column(row, "octets")?,
    })
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
                m.recipient, m.route
         FROM messages m
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
    })
}
