//! For tests: counts what statements read, and makes a long queue out of one message.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Store;
use super::database::{READERS, column, sql};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::store::StoreError;
use crate::store::records::{Due, LaneKind, LaneStart};

/// Counts the steps of all statements but those of lists: each row that one of them goes to is at least one step.
#[derive(Debug, Clone, Default)]
pub struct Steps(Arc<AtomicU64>);

impl Steps {
    /// How many there were since the beginning.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Messages that wait, made from one that was accepted.
#[derive(Debug)]
pub struct Backlog<'a> {
    /// The message whose body, sender and account they have.
    pub of: MessageId,
    /// How many.
    pub messages: u32,
    /// Their recipients: `%d` stands for the number.
    pub recipients: &'a str,
    /// `sandbox` or `configured`.
    pub route: &'a str,
    /// When they are due.
    pub due_at: Timestamp,
}

/// The period of the copies' identifiers: that of the time 0x019a6a800000.
const COPIES_PERIOD: i64 = 0x019a_6a80_0000 / 3_600_000;

impl Store {
    /// Counts the steps of all statements but those of lists from now on.
    pub(crate) async fn count_steps(&self) -> Steps {
        let steps = Steps::default();
        let writer = self.db.writer.hold().await.expect("a connection");
        let counted = steps.clone();
        let count = move || {
            counted.0.fetch_add(1, Ordering::Relaxed);
            false
        };
        let connection = writer.connection().expect("it is open");
        connection.progress_handler(1, Some(count)).expect("a handler");
        drop(writer);
        let mut connections = Vec::new();
        for _ in 0..READERS {
            connections.push(self.db.readers.pool().acquire().await.expect("a connection"));
        }
        for connection in &mut connections {
            let steps = steps.clone();
            let mut handle = connection.lock_handle().await.expect("a handle");
            handle.set_progress_handler(1, move || {
                steps.0.fetch_add(1, Ordering::Relaxed);
                true
            });
        }
        steps
    }

    /// All due messages that nobody has leased, the longest waiting first.
    pub(crate) async fn all_due(&self, now: Timestamp) -> Vec<Due> {
        let mut all = Vec::new();
        for kind in [LaneKind::Sandbox, LaneKind::Domains] {
            let lanes = self.due_lanes(kind, now, None, 1_000).await.expect("readable");
            let lanes = lanes.into_iter().map(|it| LaneStart { lane: it.lane, after: None });
            let lanes: Vec<LaneStart> = lanes.collect();
            let due = self.due_in(&lanes, now, 1_000).await.expect("readable");
            all.extend(due.into_iter().flatten());
        }
        all.sort_by_key(|it| (it.due_at, it.message_id));
        all
    }

    /// When the first message is due that nobody has leased.
    pub(crate) async fn first_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next_due(Timestamp::from_millis(i64::MIN)).await
    }

    /// Adds a backlog behind what waits already.
    pub(crate) async fn add_backlog(&self, backlog: &Backlog<'_>) {
        let mut tx = self.db.begin("add_backlog").await.expect("writable");
        let first = sql("SELECT count(*) AS messages FROM messages").one(&mut tx).await;
        let first: i64 = column(&first.expect("readable"), "messages").expect("a number");
        for statement in [
            "INSERT INTO messages (id, period, account_id, key_id, channel, sender, domain_id, recipient, subject,
                 route, state, reason, credits, decisions, body_of, created_at, updated_at)
             WITH RECURSIVE n (i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1 + $2)
             SELECT unhex(printf('019a6a8000000000%016x', n.i)), $7, m.account_id, m.key_id, m.channel, m.sender,
                 m.domain_id, printf($3, n.i), m.subject, $4, 'queued', 'accepted', 0, m.decisions,
                 m.id, m.created_at, m.created_at
             FROM n CROSS JOIN messages m ON m.id = $6",
            "INSERT INTO queue (message_id, account_id, lane, due_at, octets)
             SELECT id, account_id,
                    CASE $4 WHEN 'sandbox' THEN $4 ELSE substr(recipient, instr(recipient, '@') + 1) END,
                    $5, 200
             FROM messages
             WHERE id >= unhex(printf('019a6a8000000000%016x', $1))
               AND id < unhex(printf('019a6a8000000000%016x', $1 + $2)) AND $3 <> '' AND body_of = $6",
            "INSERT INTO sent (period, state, account_id, changes)
             SELECT $7, 'accepted', account_id, $2 FROM messages WHERE id = $6
             ON CONFLICT DO NOTHING",
        ] {
            sql(statement)
                .bind(first)
                .bind(backlog.messages)
                .bind(backlog.recipients)
                .bind(backlog.route)
                .bind(backlog.due_at.millis())
                .bind(backlog.of)
                .bind(COPIES_PERIOD)
                .run(&mut tx)
                .await
                .expect("added");
        }
        tx.commit().await.expect("added");
    }
}
