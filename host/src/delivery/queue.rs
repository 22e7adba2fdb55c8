//! The delivery queue: which messages are due, who leases them, and when they are tried again.

pub mod at_lease;
mod lanes;
mod requeue;
pub mod retry_schedule;
mod settlements;
pub mod why;
pub mod worker;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A task for a [`Spawner`].
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts tasks; what that means is the server's business.
#[derive(Clone)]
pub struct Spawner(Arc<dyn Fn(Task) + Send + Sync>);

impl Spawner {
    /// Starts tasks with that function.
    pub fn new(start: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    fn start(&self, task: Task) {
        (self.0)(task);
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawner")
    }
}
