//! The only place that spawns tasks: each has a name, and a panic in it is logged.

use std::future::Future;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that end together. A panic in one of the default ones, as of a connection, ends that one.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    broken: Option<CancellationToken>,
}

impl Tasks {
    /// Tasks that the server cannot be without: a panic in one of them cancels `broken`.
    #[must_use]
    pub fn vital(broken: CancellationToken) -> Self {
        Self { tracker: TaskTracker::new(), broken: Some(broken) }
    }

    /// Starts a task.
    pub fn start(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let watched = std::panic::AssertUnwindSafe(task).catch_unwind();
        let broken = self.broken.clone();
        self.tracker.spawn(async move {
            if watched.await.is_err() {
                tracing::error!(name, "a task of the server panicked and has ended");
                if let Some(broken) = broken {
                    broken.cancel();
                }
            }
        });
    }

    /// Waits until all have ended.
    pub async fn finish(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}
