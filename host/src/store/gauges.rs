//! What the metrics show of the store: by one look at an index, at a count or at the file's first page.

use std::time::Duration;

use super::Store;
use super::database::{column, sql};
use crate::clock::Timestamp;
use crate::store::StoreError;

/// How the queue and the file stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// For how long the longest waiting message has been due. Nothing is due while an attempt is under
    /// way: its message is due again when the lease ends.
    pub oldest_due: Duration,
    /// Messages that wait for an attempt or a moment.
    pub waiting: i64,
    /// None of a database that a server keeps, which has gauges of its own.
    pub file: Option<FileGauges>,
}

/// How the file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileGauges {
    /// Bytes of the database, without its write-ahead log.
    pub bytes: i64,
    /// Bytes of it that are free, and used before it grows.
    pub free_bytes: i64,
}

/// Lanes whose first message is read: where messages were canceled, a lane may look older than it is.
const QUEUE: &str = "-- gauges: queue
    SELECT min(due_at) AS due FROM (
        SELECT (SELECT min(q.due_at) FROM queue q
                WHERE q.lane = l.lane AND q.account_id = l.account_id AND q.lease_owner IS NULL) AS due_at
        FROM (SELECT lane, account_id FROM lanes INDEXED BY lanes_by_due
              WHERE lane <> 'sandbox' AND due_at <= $1 ORDER BY due_at LIMIT 100) l
        UNION ALL
        SELECT (SELECT min(q.due_at) FROM queue q
                WHERE q.lane = 'sandbox' AND q.account_id = l.account_id AND q.lease_owner IS NULL)
        FROM (SELECT account_id FROM lanes INDEXED BY lanes_of_sandbox
              WHERE lane = 'sandbox' AND due_at <= $1 ORDER BY due_at LIMIT 100) l
        UNION ALL
        SELECT min(lease_until) FROM queue WHERE lease_owner IS NOT NULL AND lease_until <= $1) AS oldest";
/// A server counts in several rows, so that those who write beside each other do not wait for one.
const WAITING: &str = "-- gauges: waiting
    SELECT CAST(sum(value) AS BIGINT) AS waiting FROM totals WHERE name = 'queue'";
const FILE: &str = "-- gauges: file
    SELECT p.page_count * s.page_size AS bytes, f.freelist_count * s.page_size AS free
    FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s";

impl Store {
    /// Whether the database is a file; one that a server keeps has no [`FileGauges`].
    #[must_use]
    pub fn has_file(&self) -> bool {
        self.db.file().is_some()
    }

    /// How the queue and the file stand.
    pub async fn gauges(&self, now: Timestamp) -> Result<Gauges, StoreError> {
        let queue = sql(QUEUE).bind(now.millis()).one(&self.db.pages).await?;
        let waiting = sql(WAITING).one(&self.db.pages).await?;
        let file = match self.db.file() {
            Some(_) => {
                let row = sql(FILE).one(&self.db.pages).await?;
                Some(FileGauges {
                    bytes: column(&row, "bytes")?,
                    free_bytes: column(&row, "free")?,
                })
            }
            None => None,
        };
        let due = column::<Option<i64>>(&queue, "due")?.map(Timestamp::from_millis);
        Ok(Gauges {
            oldest_due: due.map_or(Duration::ZERO, |due| due.until(now)),
            waiting: column(&waiting, "waiting")?,
            file,
        })
    }
}
