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

    /// Has the next server that starts hold delivery, as after the restore of a backup of that moment.
    pub async fn hold_delivery(&self, backup: Timestamp) -> Result<(), StoreError> {
        self.note(NOTE, &backup.millis().to_string()).await
    }

    /// Ends the hold; without effect where there is none.
    pub async fn release_delivery(&self) -> Result<(), StoreError> {
        sql("-- release_delivery\nDELETE FROM upkeep WHERE name = $1")
            .bind(NOTE)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// Messages of the queue that were accepted before that moment, behind `after`, in the order of their acceptance; none
    /// where there is no more.
    pub async fn accepted_before(
        &self,
        moment_of_backup: Timestamp,
        after: Option<MessageId>,
    ) -> Result<Vec<HeldMessage>, StoreError> {
        let rows = sql("-- accepted_before
             SELECT q.message_id, q.due_at, m.state
             FROM queue q CROSS JOIN messages m ON m.id = q.message_id
             WHERE q.message_id > $1 AND q.message_id < $2
             ORDER BY q.message_id LIMIT $3")
        .bind(after.unwrap_or(MessageId::MIN))
        .bind(MessageId::first_of(moment_of_backup))
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
