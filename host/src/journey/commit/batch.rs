//! Group commit: sends that arrive while a transaction is being written join the next one.
//! A lone send does not wait for company.

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::records::{Job, JobOutcome};
use crate::store::sqlite::RefusalRecord;
use crate::store::{Store, StoreError};

/// Requests that may wait for the next transaction; the next one waits at the door.
const WAITING: usize = 1_024;
/// Requests in one transaction.
const TOGETHER: usize = 256;
/// Refusals that may wait to be recorded; more are counted and dropped.
const REFUSALS: usize = 4_096;

/// The way into the task that commits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Committer {
    jobs: mpsc::Sender<Waiting>,
    refusals: mpsc::Sender<RefusalRecord>,
}

/// The task's end of it.
#[derive(Debug)]
pub struct CommitQueue {
    jobs: mpsc::Receiver<Waiting>,
    refusals: mpsc::Receiver<RefusalRecord>,
}

/// Why nothing was committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The task has ended.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The database refused.
    #[error("{0}")]
    Store(String),
}

#[derive(Debug)]
struct Waiting {
    job: Job,
    reply: oneshot::Sender<Result<JobOutcome, CommitError>>,
}

/// The two ends of the queue of commits.
#[must_use]
pub fn channel() -> (Committer, CommitQueue) {
    let (job_sender, jobs) = mpsc::channel(WAITING);
    let (refusal_sender, refusals) = mpsc::channel(REFUSALS);
    (Committer { jobs: job_sender, refusals: refusal_sender }, CommitQueue { jobs, refusals })
}

impl Committer {
    /// Commits a job; answers when it is durable.
    ///
    /// # Errors
    /// Nothing was written.
    pub async fn commit(&self, job: Job) -> Result<JobOutcome, CommitError> {
        let (reply, answered) = oneshot::channel();
        let waiting = Waiting { job, reply };
        self.jobs.send(waiting).await.map_err(|_| CommitError::ShuttingDown)?;
        answered.await.map_err(|_| CommitError::ShuttingDown)?
    }

    /// Records a refusal soon. Nobody waits for it.
    pub fn record(&self, refusal: RefusalRecord) {
        if self.refusals.try_send(refusal).is_err() {
            metrics::counter!("waxwing_refusal_records_dropped_total").increment(1);
        }
    }
}

impl CommitQueue {
    /// Commits until `stop`, and then what still waits.
    pub async fn run(
        mut self,
        store: Store,
        clock: Clock,
        committed: impl Fn(),
        stop: CancellationToken,
    ) {
        let mut waiting = Vec::new();
        let mut refusals = Vec::new();
        loop {
            tokio::select! {
                biased;
                got = self.jobs.recv_many(&mut waiting, TOGETHER) => if got == 0 { break },
                got = self.refusals.recv_many(&mut refusals, TOGETHER) => if got == 0 { break },
                () = stop.cancelled(), if !self.jobs.is_closed() => {
                    self.jobs.close();
                    self.refusals.close();
                }
            }
            if !waiting.is_empty() {
                metrics::histogram!("waxwing_commit_group_size").record(as_f64(waiting.len()));
                commit(&store, &clock, std::mem::take(&mut waiting)).await;
                committed();
            }
            if !refusals.is_empty() {
                if let Err(error) = store.record_refusals(&refusals, clock.now()).await {
                    tracing::error!(%error, "refusals could not be recorded");
                }
                refusals.clear();
            }
        }
    }
}

async fn commit(store: &Store, clock: &Clock, waiting: Vec<Waiting>) {
    let (jobs, replies): (Vec<Job>, Vec<_>) =
        waiting.into_iter().map(|waiting| (waiting.job, waiting.reply)).unzip();
    let outcomes = match store.commit(&jobs, clock.now()).await {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        // One job that the database refuses must not fail its neighbours.
        Err(error) if error.is_constraint() && jobs.len() > 1 => {
            one_by_one(store, clock, &jobs).await
        }
        Err(error) => jobs.iter().map(|_| Err(failed(&error))).collect(),
    };
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        // A client that has gone away still has its message: it is committed all the same.
        drop(reply.send(outcome));
    }
}

async fn one_by_one(
    store: &Store,
    clock: &Clock,
    jobs: &[Job],
) -> Vec<Result<JobOutcome, CommitError>> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        let outcome = store.commit(std::slice::from_ref(job), clock.now()).await;
        outcomes.push(match outcome.map(|mut outcomes| outcomes.pop()) {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(CommitError::Store("the store gave no outcome".to_owned())),
            Err(error) => Err(failed(&error)),
        });
    }
    outcomes
}

fn failed(error: &StoreError) -> CommitError {
    CommitError::Store(error.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "a group has at most 256 members")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
