//! The sandbox inbox of one machine, in an `SQLite` file of its own.
//!
//! Write-ahead log with `synchronous=NORMAL`: a killed process loses nothing, a power cut may lose
//! the last few messages, and no message waits for the disk.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

use super::quota::{self, Bounds};
use super::row::{self, Arrival, ListedHeaders, MailId, StoredMessage, Summary};
use crate::inbox::InboxError;
use crate::store::SandboxMail;
use crate::store::embedded::{self, begin_immediate, begin_shrinkable, convert_to_shrinkable};

const READER_CONNECTIONS: u32 = 3;
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Its connections.
#[derive(Debug, Clone)]
pub struct InboxFile {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl InboxFile {
    /// Opens the file, or creates it.
    pub async fn open(file: &Path) -> Result<Self, InboxError> {
        let options = embedded::options(file)
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
        Ok(Self { writer, readers })
    }

    /// Stores a message, then deletes the oldest ones beyond the bounds.
    pub async fn insert(
        &self,
        arrival: &Arrival,
        headers: &ListedHeaders,
        bounds: Bounds,
    ) -> Result<(), InboxError> {
        let during = || InboxError::during("insert");
        let mut tx = begin_immediate(&self.writer).await.map_err(during())?;
        for recipient in &arrival.recipients {
            row::insert(&mut tx, recipient, headers, arrival).await.map_err(during())?;
        }
        tx.commit().await.map_err(during())?;
        if let Err(error) = quota::trim(&self.writer, bounds).await {
            tracing::warn!(%error, "the sandbox inbox could not delete its oldest messages");
        }
        Ok(())
    }

    /// At most `limit` messages, newest first.
    pub async fn list(
        &self,
        limit: i64,
        after: Option<MailId>,
        to: Option<&str>,
    ) -> Result<Vec<Summary>, InboxError> {
        row::list(&self.readers, limit, after, to).await.map_err(InboxError::during("list"))
    }

    pub async fn get(&self, id: MailId) -> Result<Option<StoredMessage>, InboxError> {
        row::find(&self.readers, id).await.map_err(InboxError::during("get"))
    }

    /// Deletes the copies of messages that were sent.
    pub async fn delete_sent(&self, mails: &[SandboxMail]) -> Result<(), InboxError> {
        let during = || InboxError::during("delete");
        let mut tx = begin_immediate(&self.writer).await.map_err(during())?;
        for mail in mails {
            row::delete_sent(&mut tx, mail).await.map_err(during())?;
        }
        tx.commit().await.map_err(during())
    }

    pub async fn count(&self) -> Result<i64, InboxError> {
        quota::count(&self.readers).await.map_err(InboxError::during("count"))
    }

    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
