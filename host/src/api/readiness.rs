//! Whether sends can be accepted now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Outage, Refusal};
use crate::nodes::Membership;
use crate::store::Store;

/// For how long an answer of the store counts.
const READY_CACHE_TIME: Duration = Duration::from_secs(1);
const PROBE_TIME: Duration = Duration::from_secs(5);

/// Whether the store could be written when somebody last asked. It is written at most once a second,
/// however many ask: everybody may.
#[derive(Debug, Default)]
pub struct Readiness {
    last: Mutex<Option<(Instant, Ready)>>,
    /// The server stops soon: whoever sends new work should go elsewhere.
    is_stopping: AtomicBool,
    membership: Arc<Membership>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ready {
    Yes,
    No,
}

impl Readiness {
    /// The readiness of a node, which ends with the time for which its membership was renewed last.
    #[must_use]
    pub fn of_node(membership: Arc<Membership>) -> Self {
        Self { membership, ..Self::default() }
    }

    /// From now on [`Self::check`] refuses; all else goes on.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Refuses while the store cannot be written, while this node may begin no delivery, and when it is about to stop.
    ///
    /// A send that comes to a node past its time is accepted all the same, where the database takes the commit: the
    /// message is safe there, others deliver it, and a refusal would only have the client try again. What the commit decides is
    /// exact on every node, and it refuses a database that was moved meanwhile; rates may be exceeded by this node's part.
    pub async fn check(&self, store: &Store, now: Timestamp) -> Result<(), Refusal> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(Refusal::unavailable(Outage::Stopping, "the server is shutting down"));
        }
        if !self.membership.is_in_time() {
            let message =
                "this node has lost the database, or has another master key; the log says why";
            return Err(Refusal::unavailable(Outage::Store, message));
        }
        match self.of(|| is_writable(store, now)).await {
            Ready::Yes => Ok(()),
            Ready::No => {
                let message = "the store cannot be written; the log says why";
                Err(Refusal::unavailable(Outage::Store, message))
            }
        }
    }

    /// Who asks while the store is being written waits for that answer.
    async fn of<F: Future<Output = Ready>>(&self, probe: impl FnOnce() -> F) -> Ready {
        let mut last = self.last.lock().await;
        if let Some((at, ready)) = *last
            && at.elapsed() < READY_CACHE_TIME
        {
            return ready;
        }
        let ready = probe().await;
        *last = Some((Instant::now(), ready));
        ready
    }
}

async fn is_writable(store: &Store, now: Timestamp) -> Ready {
    match tokio::time::timeout(PROBE_TIME, store.probe(now)).await {
        Ok(Ok(())) => Ready::Yes,
        Ok(Err(error)) => {
            tracing::error!(%error, "not ready: the store cannot be written");
            Ready::No
        }
        Err(_) => {
            let seconds = PROBE_TIME.as_secs();
            tracing::error!(seconds, "not ready: the store was not written in time");
            Ready::No
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_node_past_its_time_is_not_ready() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let membership = Arc::new(Membership::joining());
        let readiness = Readiness::of_node(Arc::clone(&membership));
        let now = Timestamp::from_millis(1_800_000_000_000);
        let refused = readiness.check(&store, now).await.expect_err("it is not ready");
        assert_eq!(refused.code(), "UNAVAILABLE");
        let until = std::time::Instant::now() + Duration::from_hours(1);
        membership.renewed(&[], 1, until);
        readiness.check(&store, now).await.expect("it is ready");
    }

    #[tokio::test]
    async fn the_store_is_asked_at_most_once_a_second() {
        let (readiness, asked) = (Readiness::default(), AtomicU32::new(0));
        let ask = || {
            readiness.of(|| async {
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ready::Yes
            })
        };
        assert_eq!(join_all((0..100).map(|_| ask())).await, [Ready::Yes; 100]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        *readiness.last.lock().await =
            Instant::now().checked_sub(READY_CACHE_TIME).map(|it| (it, Ready::Yes));
        assert_eq!(ask().await, Ready::Yes);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
