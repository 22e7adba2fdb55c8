//! What the work in the background reads and writes: what is dropped when its time is over, in small
//! batches so that no send waits for it, and notes for the next start.

use super::database::{column, sql};
use super::{Store, embedded};
use crate::clock::Timestamp;
use crate::store::StoreError;

impl Store {
    /// Drops kept answers whose 24 hours are over and refusals from before `refusals_before`;
    /// at most `limit` rows of each. Answers how many went.
    pub async fn drop_expired(
        &self,
        now: Timestamp,
        refusals_before: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let answers = sql("-- drop_expired
             DELETE FROM idempotency WHERE (account_id, mode, key) IN
                 (SELECT account_id, mode, key FROM idempotency WHERE expires_at <= $1 LIMIT $2)")
        .bind(now.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await?;
        let refusals = sql("-- drop_expired
             DELETE FROM decisions WHERE id IN
                 (SELECT id FROM decisions WHERE created_at < $1 LIMIT $2)")
        .bind(refusals_before.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await?;
        Ok(answers + refusals)
    }

    /// What the work in the background has noted under a name.
    pub async fn noted(&self, name: &str) -> Result<Option<String>, StoreError> {
        let row = sql("-- noted\nSELECT value FROM upkeep WHERE name = $1")
            .bind(name)
            .optional(&self.db.readers)
            .await?;
        row.map(|row| column(&row, "value")).transpose()
    }

    /// Notes something for the next start.
    pub async fn note(&self, name: &str, value: &str) -> Result<(), StoreError> {
        sql("-- note
             INSERT INTO upkeep (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind(name)
        .bind(value)
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// Notes something, unless there is something under that name already; answers what stands there then. Of several nodes
    /// that start at one time the first one counts.
    pub async fn note_first(&self, name: &str, value: &str) -> Result<String, StoreError> {
        sql("-- note_first
             INSERT INTO upkeep (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
        .bind(name)
        .bind(value)
        .run(&self.db.writer)
        .await?;
        Ok(self.noted(name).await?.unwrap_or_default())
    }

    /// Cuts at most `pages` of the free pages off the file that are more than it will soon use again. A server has no file
    /// of ours.
    /// Answers how many were left to cut.
    pub async fn shrink(&self, pages: u32) -> Result<u32, StoreError> {
        let Some(file) = self.db.file() else { return Ok(0) };
        let excess = embedded::excess(file).await.map_err(StoreError::during("shrink"))?;
        if excess > 0 {
            let mut cut = sql("PRAGMA incremental_vacuum(");
            cut.push(&pages.min(excess).to_string()).push(")");
            cut.run(&self.db.writer).await?;
        }
        Ok(excess)
    }

    /// Checkpoints the write-ahead log into the file as far as readers allow, which waits for nobody: only then
    /// the file becomes shorter on the disk.
    pub async fn checkpoint_wal(&self) -> Result<(), StoreError> {
        if self.db.file().is_none() {
            return Ok(());
        }
        sql("PRAGMA wal_checkpoint(PASSIVE)").run(&self.db.writer).await.map(|_| ())
    }
}
