//! One transaction for many sends: debits, messages, bodies, queue rows, events, counts, idempotency.
//!
//! What is accepted is decided above the store, on facts that are read here. The rows are then written table by table.
//! Where others commit beside it, accounts are locked late: what is decided on balances that nobody holds is decided
//! again on the locked ones.

mod facts;
mod key_use;
mod write;

use std::collections::BTreeSet;

use super::database::{Size, inconsistent, sql};
use super::identities::Added;
use super::lock_rows::lock_accounts;
use super::outcome::COMMIT_OUTCOME_WAIT;
use super::records::{Accepted, CommitFacts, Job, JobOutcome, Verdict};
use super::tries::Tries;
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
pub(super) use key_use::KeyUse;

/// When the accounts are locked, where others commit beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Locked {
    /// After the rows that take long: as others commit for the same accounts, they wait only for the end of it.
    Late,
    /// Before anything is read: nothing can outrun it.
    First,
}

/// How a transaction ended.
enum Ended {
    Committed(Vec<JobOutcome>),
    /// Another one has spent a balance, or taken an idempotency key, that this one had read as free. Nothing was written.
    Outrun,
    /// Nobody knows whether it was written.
    Unknown {
        messages: Vec<MessageId>,
        outcomes: Vec<JobOutcome>,
        error: StoreError,
    },
}

impl Store {
    /// Commits jobs in one transaction and says what became of each, in order. `decide` is asked again where a fact has
    /// changed before its verdict was written.
    ///
    /// # Errors
    /// The database failed; nothing of any job was written, unless the error [is unknown](StoreError::is_unknown).
    pub async fn commit_decided<'a>(
        &self,
        jobs: &'a [Job],
        now: Timestamp,
        decide: impl Fn(&'a [Job], CommitFacts) -> Verdict<'a>,
    ) -> Result<Vec<JobOutcome>, StoreError> {
        let mut tries = Tries::default();
        let mut locked = Locked::Late;
        loop {
            let (pause, error) = match self.commit_once(jobs, now, &decide, locked).await {
                Ok(Ended::Committed(outcomes)) => return Ok(outcomes),
                Ok(Ended::Outrun) => {
                    locked = Locked::First;
                    continue;
                }
                Ok(Ended::Unknown { messages, outcomes, error }) => {
                    tracing::warn!(%error, "a commit of messages got no answer; looking up whether they are there");
                    let look = || sql(FOUND).ids(messages.iter().copied());
                    match self.look_up_outcome(COMMIT_OUTCOME_WAIT, look).await {
                        // All of them are there, or none.
                        Some(found) if found.is_empty() => (tries.again(), error),
                        Some(_) => return Ok(outcomes),
                        None => (None, error),
                    }
                }
                Err(error) => (tries.after(&error), error),
            };
            // The same jobs again: their messages keep their identifiers.
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn commit_once<'a>(
        &self,
        jobs: &'a [Job],
        now: Timestamp,
        decide: &impl Fn(&'a [Job], CommitFacts) -> Verdict<'a>,
        locked: Locked,
    ) -> Result<Ended, StoreError> {
        let mut tx = self.db.begin_beside("commit").await?;
        if locked == Locked::First {
            lock_accounts(&mut tx, &jobs.iter().map(|it| it.account_id).collect()).await?;
        }
        let facts = facts::read(&mut tx, jobs, now).await?;
        let unlocked = (!tx.is_alone() && locked == Locked::Late).then(|| facts.clone());
        let mut verdict = decide(jobs, facts);
        if verdict.accepted.is_empty() {
            tx.rollback().await?;
            return Ok(Ended::Committed(outcomes(verdict)));
        }
        let mut added = Added::default();
        let debits = write::debits(&mut tx, &verdict.accepted, now).await?;
        let paid = (&*verdict.accepted, &debits);
        write::messages(&mut tx, paid, (&self.identities, &mut added), now).await?;
        if let Some(mut facts) = unlocked {
            let accounts: BTreeSet<AccountId> =
                verdict.accepted.iter().map(|it| it.account).collect();
            let balances = lock_accounts(&mut tx, &accounts).await?;
            let has_changed = |(account, balance): (&AccountId, &i64)| {
                facts.balances.get(account) != Some(balance)
            };
            if balances.iter().any(has_changed) {
                facts.balances.extend(balances);
                let again = decide(jobs, facts);
                // What is written already stays, but for the balances that are answered and told.
                if !is_same(&verdict.accepted, &again.accepted) {
                    tx.rollback().await?;
                    return Ok(Ended::Outrun);
                }
                verdict = again;
            }
        }
        if let Some(key) = write::counts(&mut tx, (jobs, &verdict), &debits, now).await? {
            if tx.is_alone() || locked == Locked::First {
                return Err(inconsistent("idempotency", "key", &key.key));
            }
            tx.rollback().await?;
            return Ok(Ended::Outrun);
        }
        let used = self.key_use.write(&mut tx, &verdict.accepted, now).await?;
        // Only a COMMIT to a server may stay without an answer, after which the messages tell whether it was done.
        let in_doubt = if tx.is_alone() { &[][..] } else { &verdict.accepted[..] };
        let messages = in_doubt.iter().map(|it| it.message.id).collect();
        let size = size(jobs, &verdict.accepted);
        let outcomes = outcomes(verdict);
        match tx.commit_sized(size).await {
            Ok(()) => {}
            Err(error) if error.is_unknown() => {
                return Ok(Ended::Unknown { messages, outcomes, error });
            }
            Err(error) => return Err(error),
        }
        self.identities.keep(added);
        self.key_use.keep(used);
        Ok(Ended::Committed(outcomes))
    }
}

const FOUND: &str = "-- commit: is it there
    SELECT id FROM messages WHERE id IN (SELECT unhex(value) FROM json_each($1))";

fn outcomes(verdict: Verdict<'_>) -> Vec<JobOutcome> {
    verdict.jobs.into_iter().map(|it| it.outcome).collect()
}

/// How much a transaction has written.
fn size(jobs: &[Job], accepted: &[Accepted<'_>]) -> Size {
    match (jobs, accepted) {
        ([job], [one]) if job.items.len() == 1 && one.message.body.cost() == 1 => Size::Small,
        _ => Size::Any,
    }
}

/// Whether the same messages are accepted, in the same states and at the same price.
fn is_same(one: &[Accepted<'_>], other: &[Accepted<'_>]) -> bool {
    let told = |it: &Accepted<'_>| (it.message.id, it.state, it.charged, it.due_at);
    one.iter().map(told).eq(other.iter().map(told))
}
