//! The only place that spawns tasks: each has a name, and a panic in it is logged.

use std::future::Future;

use futures_util::FutureExt;
use tokio_util::task::TaskTracker;

/// The tasks of one stage of the server.
#[derive(Debug, Clone, Default)]
pub struct Tasks(TaskTracker);

impl Tasks {
    /// Starts a task.
    pub fn start(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let watched = std::panic::AssertUnwindSafe(task).catch_unwind();
        self.0.spawn(async move {
            if watched.await.is_err() {
                tracing::error!(name, "a task of the server panicked and has ended");
            }
        });
    }

    /// Waits until all have ended.
    pub async fn finish(&self) {
        self.0.close();
        self.0.wait().await;
    }
}
