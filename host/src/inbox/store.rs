//! Stores the messages of the sandbox inbox, in an `SQLite` file of their own.
//!
//! Write-ahead log with `synchronous=NORMAL`: a killed process loses nothing, a power cut may lose
//! the last few messages, and no message waits for the disk. Bounded by [`Bounds`].

mod quota;
mod row;

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use super::InboxError;
use crate::store::embedded::{begin_immediate, begin_shrinkable, convert_to_shrinkable};
pub use quota::Bounds;
pub use row::{Arrival, InvalidMailId, MailId, StoredMessage, Summary};

const READER_CONNECTIONS: u32 = 3;
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Cheap to clone; all clones share its connections.
#[derive(Debug, Clone)]
pub struct InboxStore {
    writer: SqlitePool,
    readers: SqlitePool,
    bounds: Bounds,
}

/// Some messages, newest first.
#[derive(Debug, Clone)]
pub struct Page {
    pub rows: Vec<Summary>,
    /// Whether there are older ones.
    pub has_more: bool,
}

impl InboxStore {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// It cannot be opened, or is no database of an inbox.
    pub async fn open(file: &Path) -> Result<Self, InboxError> {
        Self::open_with_bounds(file, Bounds::default()).await
    }

    /// Opens the file with other bounds than the default.
    ///
    /// # Errors
    /// It cannot be opened, or is no database of an inbox.
    pub async fn open_with_bounds(file: &Path, bounds: Bounds) -> Result<Self, InboxError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(LOCK_TIMEOUT)
            .pragma("journal_size_limit", "67108864");
        begin_shrinkable(&options, file).await.map_err(InboxError::during("open"))?;
        let pool = SqlitePoolOptions::new().acquire_timeout(LOCK_TIMEOUT);
        let writer = pool
            .clone()
            .max_connections(1)
            .connect_with(options.clone())
            .await
            .map_err(InboxError::during("open"))?;
        convert_to_shrinkable(&writer, file).await.map_err(InboxError::during("open"))?;
        sqlx::raw_sql(row::SCHEMA).execute(&writer).await.map_err(InboxError::during("open"))?;
        let readers = pool
            .max_connections(READER_CONNECTIONS)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(InboxError::during("open"))?;
        Ok(Self { writer, readers, bounds })
    }

    /// Stores a message, a row for each recipient, all or none; then deletes the oldest messages beyond the bounds.
    ///
    /// # Errors
    /// The file failed; nothing was stored.
    pub async fn insert(&self, arrival: &Arrival) -> Result<(), InboxError> {
        let during = || InboxError::during("insert");
        let heading = row::ListedHeaders::of(arrival);
        let mut tx = begin_immediate(&self.writer).await.map_err(during())?;
        for recipient in &arrival.recipients {
            row::insert(&mut tx, recipient, &heading, arrival).await.map_err(during())?;
        }
        tx.commit().await.map_err(during())?;
        if let Err(error) = quota::trim(&self.writer, self.bounds).await {
            tracing::warn!(%error, "the sandbox inbox could not delete its oldest messages");
        }
        Ok(())
    }

    /// At most `limit` messages, newest first: those before `after`, those for `to`, where given.
    pub async fn list(
        &self,
        limit: u16,
        after: Option<MailId>,
        to: Option<&str>,
    ) -> Result<Page, InboxError> {
        let mut rows = row::list(&self.readers, i64::from(limit) + 1, after, to)
            .await
            .map_err(InboxError::during("list"))?;
        let has_more = rows.len() > usize::from(limit);
        rows.truncate(usize::from(limit));
        Ok(Page { rows, has_more })
    }

    /// One message.
    pub async fn get(&self, id: MailId) -> Result<Option<StoredMessage>, InboxError> {
        row::find(&self.readers, id).await.map_err(InboxError::during("get"))
    }

    /// How many messages are kept.
    pub async fn count(&self) -> Result<i64, InboxError> {
        quota::count(&self.readers).await.map_err(InboxError::during("count"))
    }

    /// Closes the file. Whoever still has a clone gets errors, and senders get a reply to retry later.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
