//! One transaction for many sends: debits, messages, bodies, queue rows, events, counts, idempotency.
//!
//! What is accepted is decided above the store, on facts that are read here under the write lock. The rows
//! are then written table by table.

mod facts;
mod key_use;
mod write;

use super::identities::Added;
use super::records::{CommitFacts, Job, JobOutcome, Verdict};
use super::{Store, StoreError};
use crate::clock::Timestamp;
pub(super) use key_use::KeyUse;

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
            let mut added = Added::default();
            write::write(&mut tx, (jobs, &verdict), (&self.identities, &mut added), now).await?;
            let used = self.key_use.write(&mut tx, &verdict.accepted, now).await?;
            tx.commit().await?;
            self.identities.keep(added);
            self.key_use.keep(used);
        }
        Ok(verdict.jobs.into_iter().map(|it| it.outcome).collect())
    }
}
