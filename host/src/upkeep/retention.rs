//! Drops what is past its time: kept answers after 24 hours, records of refusals after 7 days.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp};
use crate::store::Store;

const EVERY: Duration = Duration::from_mins(5);
const REFUSALS_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Rows of one bite; the write lock is free between two bites.
const BITE: u32 = 500;

/// Runs until `stop`.
pub async fn run(store: Store, clock: Clock, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        loop {
            let now = clock.now();
            let refusals_before = Timestamp::from_millis(now.millis() - REFUSALS_KEPT_MS);
            match store.drop_expired(now, refusals_before, BITE).await {
                Ok(dropped) if dropped >= u64::from(BITE) && !stop.is_cancelled() => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::error!(%error, "expired rows could not be dropped");
                    break;
                }
            }
        }
    }
}
