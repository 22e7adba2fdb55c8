//! One transaction for many sends: debit, message, body, queue row, event, decision, idempotency.
//!
//! What is accepted is decided above the store, on facts that are read here under the write lock. The rows
//! are then written table by table.

mod facts;
mod write;

use super::records::{CommitFacts, Job, JobOutcome, Verdict};
use super::{Store, StoreError};
use crate::clock::Timestamp;

impl Store {
    /// Commits jobs in one transaction and says what became of each, in order. `decide` sees the facts as
    /// they are until its verdict is written; a database with several writers may ask it again.
    ///
    /// # Errors
    /// The database failed; nothing of any job was written.
    pub async fn commit_decided<'a>(
        &self,
        jobs: &'a [Job],
        now: Timestamp,
        decide: impl Fn(&'a [Job], CommitFacts) -> Verdict<'a>,
    ) -> Result<Vec<JobOutcome>, StoreError> {
        let mut tx = self.db.begin("commit").await?;
        let verdict = decide(jobs, facts::read(&mut tx, jobs, now).await?);
        if verdict.accepted.is_empty() {
            tx.rollback().await?;
        } else {
            write::write(&mut tx, jobs, &verdict, now).await?;
            tx.commit().await?;
        }
        Ok(verdict.jobs.into_iter().map(|it| it.outcome).collect())
    }
}
