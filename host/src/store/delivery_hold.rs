//! The hold of delivery that a restored backup begins with: what waited when it was taken may have gone out since.

use std::path::Path;

use super::Store;
use super::database::{Row, column, copy_file, moment, sql, word};
use crate::clock::{Clock, Timestamp};
use crate::id::{Identifier as _, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;

/// The note of the hold: the moment of the backup, in milliseconds since the Unix epoch.
const NOTE: &str = "delivery is held";
/// The note of what is held: the moment in [`NOTE`], and the number of the newest event that the database had then. It is
/// beside the other one, which an earlier version reads as well.
const MARK: &str = "delivery is held: events";
/// Messages that are read at one time.
const BATCH_ROWS: u32 = 1_000;

/// A message that waited when the backup was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldMessage {
    pub id: MessageId,
    pub state: MessageState,
    pub due_at: Timestamp,
}

impl Store {
    /// Whether delivery is held: then the moment of the backup that was restored.
    pub async fn delivery_hold(&self) -> Result<Option<Timestamp>, StoreError> {
        let noted = self.noted(NOTE).await?;
        Ok(noted.map(|it| Timestamp::from_millis(it.parse().unwrap_or_default())))
    }

    /// Copies the file of a store, whoever has it open, into a new file. A server that starts on the copy holds delivery.
    /// Answers the last migration of its schema.
    pub async fn copy(file: &Path, into: &Path, clock: &Clock) -> Result<i64, StoreError> {
        // Not before the copy: a message that is accepted meanwhile may be in it, and goes out here.
        let note = || (NOTE, clock.now().millis().to_string());
        copy_file(file, into, note).await
    }

    /// The same when a server starts, before it accepts anything.
    pub async fn begin_hold(&self) -> Result<Option<Timestamp>, StoreError> {
        let held = self.delivery_hold().await?;
        if let Some(backup) = held {
            self.mark_held(backup).await?;
        }
        Ok(held)
    }

    /// Has the next server that starts hold delivery, as after the restore of a backup of that moment.
    pub async fn hold_delivery(&self, backup: Timestamp) -> Result<(), StoreError> {
        self.note(NOTE, &backup.millis().to_string()).await?;
        self.mark_held(backup).await.map(|_| ())
    }

    /// The number of the newest event that the database of that backup had before a server accepted anything on it. A
    /// message has its first event with its acceptance; its time would not tell, because a clock may have run ahead.
    /// The first call after the hold marks the number, later ones read it.
    pub async fn mark_held(&self, backup: Timestamp) -> Result<i64, StoreError> {
        sql("-- mark_held
             INSERT INTO upkeep (name, value)
             VALUES ($1, $2 || ' ' || CAST((SELECT coalesce(max(sequence), 0) FROM events) AS TEXT))
             ON CONFLICT (name) DO UPDATE SET value = excluded.value
             WHERE upkeep.value NOT LIKE $2 || ' %'")
        .bind(MARK)
        .bind(backup.millis().to_string())
        .run(&self.db.writer)
        .await?;
        let mark = self.noted(MARK).await?;
        let number = mark.as_deref().and_then(|it| it.rsplit_once(' ')?.1.parse().ok());
        Ok(number.unwrap_or_default())
    }

    /// Ends the hold; without effect where there is none.
    pub async fn release_delivery(&self) -> Result<(), StoreError> {
        sql("-- release_delivery\nDELETE FROM upkeep WHERE name IN ($1, $2)")
            .bind(NOTE)
            .bind(MARK)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// Messages of the queue that have an event up to that number, behind `after`, by their identifiers; none where there is
    /// no more.
    pub async fn accepted_up_to(
        &self,
        event: i64,
        after: Option<MessageId>,
    ) -> Result<Vec<HeldMessage>, StoreError> {
        let rows = sql("-- accepted_up_to
             SELECT q.message_id, q.due_at, m.state
             FROM queue q CROSS JOIN messages m ON m.id = q.message_id
             WHERE q.message_id > $1
               AND EXISTS (SELECT 1 FROM events e WHERE e.subject = q.message_id AND e.sequence <= $2)
             ORDER BY q.message_id LIMIT $3")
        .bind(after.unwrap_or(MessageId::MIN))
        .bind(event)
        .bind(BATCH_ROWS)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(held).collect()
    }
}

fn held(row: &Row) -> Result<HeldMessage, StoreError> {
    Ok(HeldMessage {
        id: column(row, "message_id")?,
        state: word(row, "messages", "state", MessageState::from_name)?,
        due_at: moment(row, "due_at")?,
    })
}
