//! Waits for the store while other work goes on that may hold its connections: work that nobody polls
//! gives none of them back.

use std::future::Future;
use std::pin::pin;

use futures_util::{Stream, StreamExt};

/// Waits for `future` and meanwhile drives `running`, whose items are added to `done`.
pub async fn drive_while<F, R>(future: F, running: &mut R, done: &mut Vec<R::Item>) -> F::Output
where
    F: Future,
    R: Stream + Unpin,
{
    let mut future = pin!(future);
    loop {
        tokio::select! {
            output = &mut future => return output,
            Some(item) = running.next() => done.push(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::stream::FuturesUnordered;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn what_holds_the_only_connection_is_brought_to_its_end() {
        let connection = Arc::new(Semaphore::new(1));
        let held = Arc::clone(&connection).acquire_owned().await.expect("open");
        let mut running = FuturesUnordered::new();
        running.push(async move {
            tokio::task::yield_now().await;
            drop(held);
            7
        });
        let mut done = Vec::new();
        let got = drive_while(connection.acquire(), &mut running, &mut done).await;
        assert!(got.is_ok());
        assert_eq!(done, [7]);
        let alone =
            drive_while(async { 1 }, &mut FuturesUnordered::<F>::new(), &mut Vec::new()).await;
        assert_eq!(alone, 1, "with nothing beside it");
    }

    type F = std::future::Ready<()>;
}
