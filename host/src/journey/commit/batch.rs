//! Group commit: sends that arrive while a transaction is being written join the next one.
//! A lone send does not wait for company. Accounts take turns, so one with many or large messages does not
//! hold up the others.
//!
//! Records of refusals and samples of plugin calls are written without anybody waiting, and are dropped with a counter
//! when too many wait.

mod turns;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::decide::{Rules, decide};
use crate::clock::{Clock, Timestamp};
use crate::id::AccountId;
use crate::store::records::{Job, JobItem, JobOutcome};
use crate::store::{RefusalRecord, SampleRecord, Store, StoreError};
use crate::yielding::let_others_run;
use turns::{Jobs, Turns};

/// Requests that may arrive while a transaction is written; further ones wait until they are taken up.
const MAX_QUEUED_JOBS: usize = 1_024;
/// Refusals in one transaction, at most.
const MAX_REFUSALS_PER_COMMIT: usize = 256;
/// Refusals that may wait to be recorded; more are counted and dropped.
const MAX_WAITING_REFUSALS: usize = 4_096;
/// Samples that may wait to be recorded, and the bytes of one; more are counted and dropped.
const MAX_WAITING_SAMPLES: usize = 256;
const MAX_SAMPLE_BYTES: usize = 256 << 10;
/// Of groups of one send in a row, every eighth yields to other tasks first: on one core no other send could ever join a group
/// that does not yield.
const YIELD_EVERY: u32 = 8;
/// Samples of a slot and an outcome that stay in the store.
const SAMPLES_KEPT: u32 = 200;
/// Each transaction for samples is one that sends do not get, so there are few.
const SAMPLES_INTERVAL: Duration = Duration::from_millis(500);

/// The way into the task that commits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Committer {
    jobs: mpsc::Sender<Waiting>,
    refusals: mpsc::Sender<RefusalRecord>,
    samples: mpsc::Sender<SampleRecord>,
}

/// The task's end of it.
#[derive(Debug)]
pub struct CommitQueue {
    jobs: mpsc::Receiver<Waiting>,
    refusals: mpsc::Receiver<RefusalRecord>,
    samples: mpsc::Receiver<SampleRecord>,
    samples_kept: u32,
    rules: Rules,
}

/// Why nothing was committed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// The task has ended.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The database refused.
    #[error(transparent)]
    Store(Arc<StoreError>),
    #[error("the store gave no outcome for the message")]
    NoOutcome,
}

/// A job, and who waits for its outcome.
#[derive(Debug)]
struct Waiting {
    job: Job,
    reply: oneshot::Sender<Result<JobOutcome, CommitError>>,
}

/// The two ends of the queue of commits.
#[must_use]
pub fn channel() -> (Committer, CommitQueue) {
    let (job_sender, jobs) = mpsc::channel(MAX_QUEUED_JOBS);
    let (refusal_sender, refusals) = mpsc::channel(MAX_WAITING_REFUSALS);
    let (sample_sender, samples) = mpsc::channel(MAX_WAITING_SAMPLES);
    (
        Committer { jobs: job_sender, refusals: refusal_sender, samples: sample_sender },
        CommitQueue {
            jobs,
            refusals,
            samples,
            samples_kept: SAMPLES_KEPT,
            rules: Rules::default(),
        },
    )
}

impl Committer {
    /// Commits a job; answers when it is durable.
    ///
    /// # Errors
    /// Nothing was written, unless the store's error [is unknown](StoreError::is_unknown).
    pub async fn commit(&self, job: Job) -> Result<JobOutcome, CommitError> {
        let (reply, answered) = oneshot::channel();
        let waiting = Waiting { job, reply };
        self.jobs.send(waiting).await.map_err(|_| CommitError::ShuttingDown)?;
        answered.await.map_err(|_| CommitError::ShuttingDown)?
    }

    /// Records a refusal soon. Nobody waits for it.
    pub fn record_refusal(&self, refusal: RefusalRecord) {
        if self.refusals.try_send(refusal).is_err() {
            metrics::counter!("waxwing_refusal_records_dropped_total").increment(1);
        }
    }

    /// Records a sample within a second or so. Nobody waits for it; one that is too large, or one too
    /// many, is dropped.
    pub fn record_sample(&self, sample: SampleRecord) {
        if sample.sealed.len() > MAX_SAMPLE_BYTES || self.samples.try_send(sample).is_err() {
            metrics::counter!("waxwing_plugin_samples_dropped_total").increment(1);
        }
    }
}

impl CommitQueue {
    /// Keeps at most `count` samples of a slot and an outcome.
    #[must_use]
    pub fn keeping_samples(mut self, count: u32) -> Self {
        self.samples_kept = count;
        self
    }

    /// Decides by these rules, and not by the default ones.
    #[must_use]
    pub fn deciding_by(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Commits until `stop`, and then what still waits. After each group of sends `committed` is called with the
    /// time at which the first of them is due.
    pub async fn run(
        self,
        store: Store,
        clock: Clock,
        committed: impl Fn(Timestamp),
        stop: CancellationToken,
    ) {
        let Self { jobs, refusals, samples, samples_kept, rules } = self;
        tokio::join!(
            commits(
                jobs,
                refusals,
                Committing { store: &store, clock: &clock, rules },
                committed,
                &stop
            ),
            record_samples(samples, samples_kept, &store, &clock, &stop),
        );
    }
}

async fn commits(
    mut jobs: mpsc::Receiver<Waiting>,
    mut refusals: mpsc::Receiver<RefusalRecord>,
    committing: Committing<'_>,
    committed: impl Fn(Timestamp),
    stop: &CancellationToken,
) {
    let mut turns = Turns::default();
    let mut refused = Vec::new();
    let mut lone_groups = 0_u32;
    loop {
        let was_idle = turns.is_empty() && jobs.is_empty();
        if turns.is_empty() {
            tokio::select! {
                biased;
                job = jobs.recv() => match job {
                    Some(waiting) => turns.push(waiting),
                    None => break,
                },
                got = refusals.recv_many(&mut refused, MAX_REFUSALS_PER_COMMIT) => if got == 0 { break },
                () = stop.cancelled(), if !jobs.is_closed() => {
                    jobs.close();
                    refusals.close();
                }
            }
        }
        // The scheduler runs this task right behind the one that wakes it. What else is ready goes first, and
        // its sends are in this group: each transaction writes and syncs some pages whatever is in it. After a
        // group of one, a send that finds the queue empty is probably alone again, and the yield would only wake a thread.
        if !was_idle || lone_groups.is_multiple_of(YIELD_EVERY) {
            let_others_run().await;
        }
        while let Ok(waiting) = jobs.try_recv() {
            turns.push(waiting);
        }
        let group = turns.next_group();
        lone_groups = if group.len() == 1 { lone_groups.wrapping_add(1) } else { 0 };
        if !group.is_empty() {
            metrics::histogram!("waxwing_commit_group_size").record(as_f64(group.len()));
            let due = first_due(&group, committing.clock.now());
            committing.commit(group).await;
            due.map(&committed);
        }
        while refused.len() < MAX_REFUSALS_PER_COMMIT
            && let Ok(refusal) = refusals.try_recv()
        {
            refused.push(refusal);
        }
        if !refused.is_empty() {
            if let Err(error) =
                committing.store.record_refusals(&refused, committing.clock.now()).await
            {
                tracing::error!(%error, "decision records of refused requests are lost");
            }
            refused.clear();
        }
    }
}

/// The first sample is written at once; those that come soon after it share a transaction.
async fn record_samples(
    mut samples: mpsc::Receiver<SampleRecord>,
    kept: u32,
    store: &Store,
    clock: &Clock,
    stop: &CancellationToken,
) {
    let mut waiting = Vec::new();
    loop {
        tokio::select! {
            biased;
            got = samples.recv_many(&mut waiting, MAX_WAITING_SAMPLES) => if got == 0 { break },
            () = stop.cancelled(), if !samples.is_closed() => {
                samples.close();
                continue;
            }
        }
        if let Err(error) = store.record_samples(&waiting, clock.now(), kept).await {
            tracing::error!(%error, "cannot write samples of plugin calls to the database; these samples are dropped");
        }
        waiting.clear();
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(SAMPLES_INTERVAL) => {}
        }
    }
}

/// What the task that commits works with.
#[derive(Clone, Copy)]
struct Committing<'a> {
    store: &'a Store,
    clock: &'a Clock,
    rules: Rules,
}

impl Committing<'_> {
    async fn commit(self, waiting: Vec<Waiting>) {
        let (jobs, replies): (Vec<Job>, Vec<_>) =
            waiting.into_iter().map(|waiting| (waiting.job, waiting.reply)).unzip();
        let outcomes = match self.transaction(&jobs).await {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            // One job that the database refuses must not fail its neighbours.
            Err(error) if error.is_constraint() && jobs.len() > 1 => self.one_by_one(&jobs).await,
            Err(error) => {
                let error = Arc::new(error);
                jobs.iter().map(|_| Err(CommitError::Store(Arc::clone(&error)))).collect()
            }
        };
        for (reply, outcome) in replies.into_iter().zip(outcomes) {
            // A client that has gone away still has its message: it is committed all the same.
            drop(reply.send(outcome));
        }
    }

    async fn transaction(self, jobs: &[Job]) -> Result<Vec<JobOutcome>, StoreError> {
        let (now, rules) = (self.clock.now(), self.rules);
        let decide = move |jobs, facts| decide(rules, jobs, facts, now);
        self.store.commit_decided(jobs, now, decide).await
    }

    async fn one_by_one(self, jobs: &[Job]) -> Vec<Result<JobOutcome, CommitError>> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            let outcome = self.transaction(std::slice::from_ref(job)).await;
            outcomes.push(match outcome.map(|mut outcomes| outcomes.pop()) {
                Ok(Some(outcome)) => Ok(outcome),
                Ok(None) => Err(CommitError::NoOutcome),
                Err(error) => Err(CommitError::Store(Arc::new(error))),
            });
        }
        outcomes
    }
}

impl Jobs for Waiting {
    fn account(&self) -> AccountId {
        self.job.account_id
    }

    fn cost(&self) -> usize {
        self.job.items.iter().map(cost).sum::<usize>().max(1)
    }
}

/// When the first message of a group is due.
fn first_due(group: &[Waiting], now: Timestamp) -> Option<Timestamp> {
    let items = group.iter().flat_map(|it| &it.job.items);
    let due = items.filter_map(|item| match item {
        JobItem::Message(message) => Some(message.send_at.unwrap_or(now)),
        JobItem::Refused(_) => None,
    });
    due.min()
}

/// How much a transaction writes for an item: as much as for so many small messages.
fn cost(item: &JobItem) -> usize {
    match item {
        JobItem::Message(message) => message.body.cost(),
        JobItem::Refused(_) => 0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a group has at most 256 members")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
