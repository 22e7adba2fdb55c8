//! What the queue holds for somebody who asks why mail waits. Nothing is changed.

use super::Store;
use super::database::{Row, column, inconsistent, parsed, sql};
use super::queue::due;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;
use crate::store::StoreError;
use crate::store::records::Due;

/// Messages of one domain that are counted; of more it is only said that there are more.
pub const MAX_COUNTED: u32 = 20_000;

const WAITING_IN: &str = "-- waiting_in
    SELECT g.waits_for, g.is_leased, g.due_at <= $2 AS is_due, m.state, count(*) AS messages,
           min(g.due_at) AS due_at
    FROM (SELECT * FROM (SELECT message_id, waits_for, due_at, 0 AS is_leased FROM queue
                         WHERE lane = $1 AND lease_owner IS NULL LIMIT $3)
          UNION ALL
          SELECT message_id, waits_for, due_at, 1 FROM queue
          WHERE lane = $1 AND lease_owner IS NOT NULL) g
    CROSS JOIN messages m ON m.id = g.message_id
    GROUP BY 1, 2, 3, 4 ORDER BY messages DESC";

/// A message that is still to be delivered, as its row says.
#[derive(Debug, Clone)]
pub struct Queued {
    pub due: Due,
    pub state: MessageState,
    /// Since when it is in that state, and why.
    pub since: Timestamp,
    pub reason: String,
    pub waits_for: Option<WaitsFor>,
    /// An attempt is under way.
    pub is_leased: bool,
}

/// Messages to one domain that wait for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingGroup {
    pub waits_for: Option<WaitsFor>,
    pub state: MessageState,
    pub is_leased: bool,
    pub is_due: bool,
    pub messages: u32,
    /// When the first of them is due.
    pub due_at: Timestamp,
}

/// What the last attempt of a message was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    pub ended_at: Timestamp,
    pub host: Option<String>,
    pub code: Option<u16>,
    pub enhanced: Option<String>,
    pub reply: String,
}

impl Store {
    /// What the queue holds of one message; none where nothing is left to be delivered.
    pub async fn queued(&self, id: MessageId) -> Result<Option<Queued>, StoreError> {
        let row = sql("-- queued
             SELECT q.message_id, q.account_id, q.lane, q.due_at, q.is_wanted, q.octets, q.attempts,
                    q.first_at, q.waits_for, q.lease_owner IS NOT NULL AS is_leased, m.state,
                    m.updated_at, m.reason
             FROM queue q JOIN messages m ON m.id = q.message_id WHERE q.message_id = $1")
        .bind(id.to_string())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| queued(&row)).transpose()
    }

    /// The first message of a lane name that nobody has leased, whichever account's.
    pub async fn first_queued_in(&self, lane: &str) -> Result<Option<Queued>, StoreError> {
        let row = sql(
            "-- first_queued_in
             SELECT q.message_id, q.account_id, q.lane, q.due_at, q.is_wanted, q.octets, q.attempts,
                    q.first_at, q.waits_for, 0 AS is_leased, m.state,
                    m.updated_at, m.reason
             FROM queue q CROSS JOIN messages m ON m.id = q.message_id
             WHERE q.lane = $1 AND q.lease_owner IS NULL
               AND q.account_id = (SELECT account_id FROM lanes WHERE lane = $1 ORDER BY due_at LIMIT 1)
             ORDER BY q.due_at LIMIT 1",
        )
        .bind(lane)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| queued(&row)).transpose()
    }

    /// The messages of a lane name by what they wait for, the most first. At most [`MAX_COUNTED`] and
    /// those under way are counted.
    pub async fn waiting_in(
        &self,
        lane: &str,
        now: Timestamp,
    ) -> Result<Vec<WaitingGroup>, StoreError> {
        let rows = sql(WAITING_IN)
            .bind(lane)
            .bind(now.millis())
            .bind(MAX_COUNTED)
            .all(&self.db.readers)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(WaitingGroup {
                    waits_for: waits_for(row)?,
                    state: state(row)?,
                    is_leased: column(row, "is_leased")?,
                    is_due: column(row, "is_due")?,
                    messages: column(row, "messages")?,
                    due_at: Timestamp::from_millis(column(row, "due_at")?),
                })
            })
            .collect()
    }

    pub async fn last_attempt(&self, id: MessageId) -> Result<Option<LastAttempt>, StoreError> {
        let row = sql("-- last_attempt
             SELECT ended_at, host, code, enhanced, reply FROM attempts
             WHERE message_id = $1 ORDER BY number DESC LIMIT 1")
        .bind(id.to_string())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| {
            Ok(LastAttempt {
                ended_at: Timestamp::from_millis(column(&row, "ended_at")?),
                host: column(&row, "host")?,
                code: column(&row, "code")?,
                enhanced: column(&row, "enhanced")?,
                reply: column(&row, "reply")?,
            })
        })
        .transpose()
    }
}

fn queued(row: &Row) -> Result<Queued, StoreError> {
    Ok(Queued {
        due: due(row)?,
        state: state(row)?,
        since: Timestamp::from_millis(column(row, "updated_at")?),
        reason: column(row, "reason")?,
        waits_for: waits_for(row)?,
        is_leased: column(row, "is_leased")?,
    })
}

fn state(row: &Row) -> Result<MessageState, StoreError> {
    let word: String = column(row, "state")?;
    MessageState::from_name(&word).ok_or_else(|| inconsistent("messages", "state", &word))
}

fn waits_for(row: &Row) -> Result<Option<WaitsFor>, StoreError> {
    let text: Option<String> = column(row, "waits_for")?;
    text.map(|_| parsed(row, "queue", "waits_for")).transpose()
}
