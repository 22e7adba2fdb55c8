//! Yielding before a group commit: tasks that are ready add their work to the transaction that this task is about to begin.

use std::future::poll_fn;
use std::task::Poll;

/// Puts the calling task at the end of the run queue, once, where another thread can take it. A task that calls
/// `tokio::task::yield_now` instead stays with its thread until that thread has no other work.
pub async fn let_others_run() {
    let mut has_waited = false;
    poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
