//! Drops what is past its time: kept answers after 24 hours, records of refusals after 7 days,
//! samples after as long as the operator wants.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp};
use crate::store::{Store, StoreError};

const EVERY: Duration = Duration::from_mins(5);
const REFUSALS_KEPT: Duration = Duration::from_hours(7 * 24);
/// Rows of one bite; the write lock is free between two bites.
const BITE: u32 = 500;
/// Samples are large, and their pages are overwritten one by one.
const SAMPLES_BITE: u32 = 50;

/// How long is kept what the operator may choose.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Recorded calls of plugins.
    pub samples: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { samples: Duration::from_hours(7 * 24) }
    }
}

impl Retention {
    /// Runs until `stop`.
    pub async fn run(self, store: Store, clock: Clock, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
            loop {
                match self.bite(&store, clock.now()).await {
                    Ok(More::Perhaps) if !stop.is_cancelled() => {}
                    Ok(_) => break,
                    Err(error) => {
                        tracing::error!(%error, "expired rows could not be dropped");
                        break;
                    }
                }
            }
        }
    }

    async fn bite(self, store: &Store, now: Timestamp) -> Result<More, StoreError> {
        let rows = store.drop_expired(now, now.before(REFUSALS_KEPT), BITE).await?;
        let samples = store.drop_samples(now.before(self.samples), SAMPLES_BITE).await?;
        if rows >= u64::from(BITE) || samples >= u64::from(SAMPLES_BITE) {
            return Ok(More::Perhaps);
        }
        Ok(More::No)
    }
}

/// Whether there is more to drop.
enum More {
    Perhaps,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DecisionId;
    use crate::store::sqlite::{SampleOutcome, SampleRecord};

    #[tokio::test]
    async fn samples_go_when_the_operators_time_is_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(&directory.path().join("test.db")).await.expect("opens");
        let start = Timestamp::from_millis(1_800_000_000_000);
        let sample = SampleRecord {
            decision_id: DecisionId::new(start),
            kind: "plan",
            slot: "plan".to_owned(),
            digest: "sha256:0".to_owned(),
            outcome: SampleOutcome::Answered,
            sealed: Vec::new(),
        };
        store.record_samples(&[sample], start, 10).await.expect("recorded");
        let retention = Retention { samples: Duration::from_hours(1) };
        for (minutes, left) in [(60, 1), (61, 0)] {
            let now = start.after(Duration::from_mins(minutes));
            assert!(matches!(retention.bite(&store, now).await, Ok(More::No)));
            let rows = store.samples("plan", None, 10).await.expect("readable");
            assert_eq!(rows.len(), left, "after {minutes} minutes");
        }
    }
}
