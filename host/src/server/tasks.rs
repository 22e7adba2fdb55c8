//! The only place that spawns tasks: each has a name, and a panic in it is logged.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::nodes::{Job, Membership, Share};

/// How long a stop may take before the log names what it waits for.
const QUIET_STOP_TIME: Duration = Duration::from_secs(2);

/// Tasks that end together. A panic in one of the default ones, as of a connection, ends that one.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
    broken: Option<CancellationToken>,
}

impl Tasks {
    /// Tasks that the server cannot be without: a panic in one of them cancels `broken`.
    #[must_use]
    pub fn critical(broken: CancellationToken) -> Self {
        Self { broken: Some(broken), ..Self::default() }
    }

    pub fn start(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let watched = std::panic::AssertUnwindSafe(task).catch_unwind();
        let broken = self.broken.clone();
        let counted = Counted::new(name, &self.running);
        self.tracker.spawn(async move {
            let _counted = counted;
            if watched.await.is_err() {
                tracing::error!(task = name, "a task of the server panicked and has ended");
                if let Some(broken) = broken {
                    broken.cancel();
                }
            }
        });
    }

    /// What still runs, by name: `deliver, http connection (3)`.
    fn running(&self) -> String {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let named = running.iter().map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} ({count})"),
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// Waits until all have ended, and says which of them take their time.
    pub async fn finish(&self) {
        self.tracker.close();
        while tokio::time::timeout(QUIET_STOP_TIME, self.tracker.wait()).await.is_err() {
            let waiting_for = self.running();
            tracing::warn!(waiting_for, "still stopping; a second signal stops at once");
        }
    }
}

/// A task for work that one node does for all: it does nothing while another node has the job.
pub fn once<F, S>(
    membership: &Arc<Membership>,
    job: Job,
    stop: &CancellationToken,
    start: S,
) -> impl Future<Output = ()> + Send + use<F, S>
where
    F: Future<Output = ()> + Send,
    S: Fn(CancellationToken) -> F + Send + Sync,
{
    let (membership, stop) = (Arc::clone(membership), stop.clone());
    async move { membership.while_held(Share::of_job(job), &stop, start).await }
}

/// A task's place in the list of those that run.
struct Counted {
    name: &'static str,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Counted {
    fn new(name: &'static str, running: &Arc<Mutex<BTreeMap<&'static str, usize>>>) -> Self {
        *running.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        Self { name, running: Arc::clone(running) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(self.name) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(running.remove(self.name)),
        }
    }
}
