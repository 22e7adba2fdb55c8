//! Deliver: lease, attempt, settle. At least once, with a stable Message-ID.

mod attempt;
pub mod outcome;
pub mod schedule;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::records::{Lease, Settlement};
use crate::store::{Store, StoreError};
pub use attempt::Sandbox;
use outcome::Outcome;
use schedule::Schedule;

/// Attempts under way at one time; the inbox serves 8 sessions, and others may want one.
const CONCURRENT: usize = 6;
/// Messages of one claim.
const CLAIM: u32 = 64;
/// How long a worker may hold a message; an attempt is cut off well before.
const LEASE: Duration = Duration::from_mins(2);
/// How often the queue is looked at when nothing wakes the worker.
const IDLE: Duration = Duration::from_secs(30);
/// How long it waits after the database failed.
const STUMBLE: Duration = Duration::from_secs(1);

/// The worker that empties the queue.
#[derive(Debug)]
pub struct Worker {
    store: Store,
    clock: Clock,
    owner: String,
    route: Sandbox,
    schedule: Schedule,
    wake: Arc<Notify>,
}

impl Worker {
    /// A worker; `owner` names this process in its leases, `wake` tells it of new messages.
    #[must_use]
    pub fn new(
        store: Store,
        clock: Clock,
        owner: String,
        route: Sandbox,
        schedule: Schedule,
        wake: Arc<Notify>,
    ) -> Self {
        Self { store, clock, owner, route, schedule, wake }
    }

    /// Delivers until `stop`; attempts that are under way are brought to their end.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let worked = match self.round().await {
                Ok(worked) => worked,
                Err(error) => {
                    tracing::error!(%error, "the queue cannot be worked on; trying again");
                    self.pause(STUMBLE, &stop).await;
                    continue;
                }
            };
            if worked == 0 {
                let due = self.until_next().await;
                self.pause(due, &stop).await;
            }
        }
    }

    /// One claim and its attempts; answers how many there were.
    async fn round(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let leases = self.store.claim(&self.owner, CLAIM, now, now.after(LEASE)).await?;
        if leases.is_empty() {
            return Ok(0);
        }
        let count = leases.len();
        let mut waiting = leases.into_iter();
        let mut running: FuturesUnordered<_> =
            waiting.by_ref().take(CONCURRENT).map(|lease| self.attempt(lease)).collect();
        let mut settled = Vec::with_capacity(count);
        while let Some(settlement) = running.next().await {
            settled.push(settlement);
            if let Some(lease) = waiting.next() {
                running.push(self.attempt(lease));
            }
        }
        self.store.settle(&self.owner, &settled, self.clock.now()).await?;
        Ok(count)
    }

    async fn attempt(&self, lease: Lease) -> Settlement {
        let start = std::time::Instant::now();
        let outcome = match &lease.raw {
            Some(raw) => self.route.attempt(&lease, raw).await,
            None => Outcome::Failed("the stored body is missing or damaged".to_owned()),
        };
        metrics::histogram!("waxwing_step_seconds", "step" => "deliver").record(start.elapsed());
        let settlement = self.schedule.settle(&lease, outcome, self.clock.now());
        let state = settlement.state.word();
        metrics::counter!("waxwing_deliveries_total", "state" => state).increment(1);
        tracing::info!(
            message = %lease.message_id, attempt = lease.attempt, state, "delivery attempted"
        );
        settlement
    }

    async fn until_next(&self) -> Duration {
        match self.store.next_due().await {
            Ok(Some(due)) => self.clock.now().until(due).min(IDLE),
            Ok(None) | Err(_) => IDLE,
        }
    }

    async fn pause(&self, at_most: Duration, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.wake.notified() => {}
            () = tokio::time::sleep(at_most) => {}
        }
    }
}
