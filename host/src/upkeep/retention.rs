//! Drops what is past its time, and gives its room on the disk back: content first, then the message
//! with all that is known of it; kept answers, refusals, suppressions, samples, deliveries to webhooks.
//!
//! In batches that no send waits for, and never more than half of the time of the one connection that
//! writes. What is dropped, and what is not, stands in the store; here it is decided when.

mod kept;
mod pass;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::Store;
use kept::DAY;
use pass::Pass;

pub use kept::{Kept, Retention};

const INTERVAL: Duration = Duration::from_mins(5);
/// A clock that is so far ahead of what has passed was set.
const CLOCK_JUMP: Duration = Duration::from_hours(1);

impl Retention {
    /// Runs until `stop`. A clock that has jumped is not believed for a day: under one that is a year
    /// ahead by mistake all would be past its time.
    pub async fn run(self, store: Store, clock: Clock, stop: CancellationToken) {
        let mut seen = (clock.now(), Instant::now());
        let mut not_before: Option<Instant> = None;
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let (now, expected) = (clock.now(), seen.0.after(seen.1.elapsed()));
            seen = (now, Instant::now());
            if expected.until(now) > CLOCK_JUMP {
                tracing::warn!(%now, "the clock has jumped ahead: retention deletes nothing for a day");
                not_before = Some(Instant::now() + DAY);
            }
            if not_before.is_none_or(|it| it <= Instant::now()) {
                Pass::new(self, &store, now, &stop).run().await;
            }
        }
    }
}
