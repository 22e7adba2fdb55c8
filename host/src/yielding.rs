//! Yielding before a group commit: tasks that are ready add their work to the transaction that this task is about to begin.

use std::future::poll_fn;
use std::task::Poll;

/// Puts this task at the end of the run queue, once. After `tokio::task::yield_now` no other thread could take the task
/// before this thread had run out of work.
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
