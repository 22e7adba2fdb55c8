//! A task that is about to begin a transaction lets those go first that are ready: what they bring is in that transaction.

use std::future::poll_fn;
use std::task::Poll;

/// Puts this task behind those that are ready now. `yield_now` would keep it from other threads until this one has
/// nothing else to do.
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
