//! Read-only queries for the queue list and `waxwing queue why`: what is queued, what it waits for, its last attempt.

use super::Store;
use super::database::{Row, Sql, column, either, moment_or_none, parsed, sql, word};
use super::queue::due;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;
use crate::store::StoreError;
use crate::store::records::Due;

/// Messages of one domain that are counted, at most; of more the answer only tells that there are more.
pub const MAX_COUNTED: u32 = 20_000;
/// Due messages larger than `small` are grouped by size in steps of this many octets.
const SIZE_STEP: u32 = 1 << 20;

/// Groups a lane's messages by account, by what they wait for and by state; due messages by size as well.
const WAITING_IN: &str = "-- waiting_in
    SELECT g.account_id, g.waits_for, g.is_leased, g.due_at <= $2 AS is_due, m.state,
           g.due_at <= $2 AND g.is_wanted = TRUE AS is_wanted,
           CASE WHEN g.due_at > $2 OR coalesce(g.octets, 0) <= $4 THEN 0
                ELSE 1 + g.octets / $5 END AS size,
           count(*) AS messages, min(g.message_id) AS message_id, min(g.due_at) AS due_at,
           max(g.octets) AS octets, max(g.attempts) AS attempts, min(g.first_at) AS first_at, $1 AS lane
    FROM (SELECT * FROM (SELECT message_id, account_id, waits_for, due_at, is_wanted, octets, attempts,
                                first_at, FALSE AS is_leased
                         FROM queue WHERE lane = $1 AND lease_owner IS NULL LIMIT $3) AS waiting
          UNION ALL
          SELECT message_id, account_id, waits_for, due_at, is_wanted, octets, attempts, first_at, TRUE
          FROM queue WHERE lane = $1 AND lease_owner IS NOT NULL) g
    CROSS JOIN messages m ON m.id = g.message_id
    GROUP BY 1, 2, 3, 4, 5, 6, 7";

/// Messages of one destination that a list counts; of more it is only said that there are more.
pub const MAX_LISTED_MESSAGES: u32 = 1_000;

/// Walks the lane names with a loose index scan. The message that is due first represents its destination; the `due_at`
/// of a lane may be too early where messages were canceled.
const DESTINATIONS: &str = "-- destinations
    WITH RECURSIVE names (lane) AS (
        SELECT min(lane) FROM lanes WHERE lane > $1 AND lane >= $2
        UNION ALL
        SELECT (SELECT min(l.lane) FROM lanes l WHERE l.lane > names.lane)
        FROM names WHERE names.lane IS NOT NULL),
    firsts AS (
        SELECT names.lane,
               (SELECT q.message_id FROM queue q
                WHERE q.lane = names.lane AND q.lease_owner IS NULL AND q.account_id = (
                    SELECT l.account_id FROM lanes l WHERE l.lane = names.lane ORDER BY l.due_at LIMIT 1)
                ORDER BY q.due_at, q.message_id LIMIT 1) AS first,
               (SELECT count(*) FROM (SELECT 1 FROM queue q WHERE q.lane = names.lane AND q.lease_owner IS NULL
                                      LIMIT $4) AS counted) AS messages,
               (SELECT min(w.message_id) FROM (SELECT q.message_id FROM queue q
                                               WHERE q.lane = names.lane AND q.lease_owner IS NULL LIMIT $4) w) AS oldest,
               (SELECT count(*) FROM queue q WHERE q.lane = names.lane AND q.lease_owner IS NOT NULL) AS leased
        FROM names WHERE names.lane IS NOT NULL LIMIT $3)
    SELECT f.lane, f.messages, f.leased, o.created_at AS oldest_at, q.message_id, q.account_id, q.due_at,
           q.is_wanted, q.octets, q.attempts, q.first_at, q.waits_for, m.state
    FROM firsts f CROSS JOIN queue q ON q.message_id = f.first CROSS JOIN messages m ON m.id = f.first
    LEFT JOIN messages o ON o.id = f.oldest";

/// The attempt of an expired lease was never recorded, so a message's last attempt can be the one before its count.
const LAST_ATTEMPTS_IN: Sql = either(
    "-- last_attempts_in
    SELECT a.route, a.host, a.code, a.enhanced, a.reply, max(a.ended_at) AS ended_at
    FROM (SELECT * FROM (SELECT message_id, attempts FROM queue
                         WHERE lane = $1 AND lease_owner IS NULL LIMIT $2)
          UNION ALL
          SELECT message_id, attempts FROM queue WHERE lane = $1 AND lease_owner IS NOT NULL) q
    CROSS JOIN attempts a
        ON a.message_id = q.message_id AND a.number BETWEEN q.attempts - 1 AND q.attempts
    GROUP BY a.route",
    "-- postgres: last_attempts_in
    SELECT DISTINCT ON (a.route) a.route, a.host, a.code, a.enhanced, a.reply, a.ended_at
    FROM (SELECT * FROM (SELECT message_id, attempts FROM queue
                         WHERE lane = $1 AND lease_owner IS NULL LIMIT $2) AS waiting
          UNION ALL
          SELECT message_id, attempts FROM queue WHERE lane = $1 AND lease_owner IS NOT NULL) q
    JOIN attempts a
        ON a.message_id = q.message_id AND a.number BETWEEN q.attempts - 1 AND q.attempts
    ORDER BY a.route, a.ended_at DESC",
);

/// A message that is still to be delivered, as its row says.
#[derive(Debug, Clone)]
pub struct Queued {
    pub due: Due,
    /// None where this version of the server cannot read it.
    pub recipient: Option<EmailAddress>,
    pub state: MessageState,
    /// When its last event put it into that state. A renewed back-off writes no event.
    pub since: Timestamp,
    pub reason: String,
    pub waits_for: Option<WaitsFor>,
    /// An attempt is under way.
    pub is_leased: bool,
}

/// Messages of one account to one domain that wait for the same.
#[derive(Debug, Clone)]
pub struct WaitingGroup {
    /// A representative: due like the earliest of the group, as large as the largest.
    pub due: Due,
    pub state: MessageState,
    pub waits_for: Option<WaitsFor>,
    /// Attempts are under way.
    pub is_leased: bool,
    pub messages: u32,
}

/// A destination for which mail waits.
#[derive(Debug, Clone)]
pub struct DestinationRow {
    /// The message that is due first, with how many wait: at most [`MAX_LISTED_MESSAGES`] are counted.
    pub first: WaitingGroup,
    /// Attempts that are under way.
    pub leased: u32,
    /// When the oldest of those that were counted was accepted; none where it has just left.
    pub oldest_at: Option<Timestamp>,
}

/// The last delivery attempt of a message and the reply that it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    pub ended_at: Timestamp,
    /// `sandbox`, `direct`, or the name of a smarthost; empty where the attempt ended before it had a route.
    pub route: String,
    pub host: Option<String>,
    pub code: Option<u16>,
    pub enhanced: Option<String>,
    pub reply: String,
}

impl Store {
    /// The queue row of one message; none once it is delivered, failed or canceled.
    pub async fn queued(&self, id: MessageId) -> Result<Option<Queued>, StoreError> {
        let row = sql(
            "-- queued
             SELECT q.message_id, q.account_id, q.lane, q.due_at, q.is_wanted, q.octets, q.attempts,
                    q.first_at, q.waits_for, q.lease_owner IS NOT NULL AS is_leased, m.recipient, m.state,
                    m.reason, coalesce((SELECT e.created_at FROM events e WHERE e.subject = m.id
                                        ORDER BY e.sequence DESC LIMIT 1), m.updated_at) AS since
             FROM queue q JOIN messages m ON m.id = q.message_id WHERE q.message_id = $1",
        )
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| {
            Ok(Queued {
                due: due(&row)?,
                recipient: column::<&str>(&row, "recipient")?.parse().ok(),
                state: state(&row)?,
                since: Timestamp::from_millis(column(&row, "since")?),
                reason: column(&row, "reason")?,
                waits_for: waits_for(&row)?,
                is_leased: column(&row, "is_leased")?,
            })
        })
        .transpose()
    }

    /// The messages of a lane name by account and by what they wait for; those that are due also by their size,
    /// where they are larger than `small` octets. At most [`MAX_COUNTED`] and those under way are counted.
    pub async fn waiting_in(
        &self,
        lane: &str,
        small: u32,
        now: Timestamp,
    ) -> Result<Vec<WaitingGroup>, StoreError> {
        let rows = sql(WAITING_IN)
            .bind(lane)
            .bind(now.millis())
            .bind(MAX_COUNTED)
            .bind(small)
            .bind(SIZE_STEP)
            .all(&self.db.readers)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(WaitingGroup {
                    due: due(row)?,
                    state: state(row)?,
                    waits_for: waits_for(row)?,
                    is_leased: column(row, "is_leased")?,
                    messages: column(row, "messages")?,
                })
            })
            .collect()
    }

    /// Destinations with queued mail, sorted by name: those after `after` (a cursor) and not before `from`.
    pub async fn destinations(
        &self,
        (after, from): (&str, &str),
        limit: u32,
    ) -> Result<Vec<DestinationRow>, StoreError> {
        let rows = sql(DESTINATIONS)
            .bind(after)
            .bind(from)
            .bind(limit)
            .bind(MAX_LISTED_MESSAGES)
            .all(&self.db.pages)
            .await?;
        let row = |row: &Row| {
            Ok(DestinationRow {
                first: WaitingGroup {
                    due: due(row)?,
                    state: state(row)?,
                    waits_for: waits_for(row)?,
                    is_leased: false,
                    messages: column(row, "messages")?,
                },
                leased: column(row, "leased")?,
                oldest_at: moment_or_none(row, "oldest_at")?,
            })
        };
        rows.iter().map(row).collect()
    }

    /// The last attempts of the messages of a lane name, one of each route.
    pub async fn last_attempts_in(&self, lane: &str) -> Result<Vec<LastAttempt>, StoreError> {
        let rows = sql(LAST_ATTEMPTS_IN).bind(lane).bind(MAX_COUNTED).all(&self.db.readers).await?;
        rows.iter().map(last_attempt).collect()
    }

    pub async fn last_attempt(&self, id: MessageId) -> Result<Option<LastAttempt>, StoreError> {
        let row = sql("-- last_attempt
             SELECT ended_at, route, host, code, enhanced, reply FROM attempts
             WHERE message_id = $1 ORDER BY number DESC LIMIT 1")
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| last_attempt(&row)).transpose()
    }
}

fn last_attempt(row: &Row) -> Result<LastAttempt, StoreError> {
    Ok(LastAttempt {
        ended_at: Timestamp::from_millis(column(row, "ended_at")?),
        route: column(row, "route")?,
        host: column(row, "host")?,
        code: column(row, "code")?,
        enhanced: column(row, "enhanced")?,
        reply: column(row, "reply")?,
    })
}

fn state(row: &Row) -> Result<MessageState, StoreError> {
    word(row, "messages", "state", MessageState::from_name)
}

fn waits_for(row: &Row) -> Result<Option<WaitsFor>, StoreError> {
    let text: Option<String> = column(row, "waits_for")?;
    text.map(|_| parsed(row, "queue", "waits_for")).transpose()
}
