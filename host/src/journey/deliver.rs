//! Deliver: lease, sign, attempt, settle. At least once, with a stable Message-ID.

mod attempt;
pub mod outcome;
pub mod schedule;
pub mod sign;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::records::{Lease, Settlement};
use crate::store::{Store, StoreError, beside};
pub use attempt::Sandbox;
use outcome::Outcome;
use schedule::Schedule;
use sign::{Signatory, Signed};

/// Attempts under way at one time; the inbox serves 8 sessions, and others may want one.
const CONCURRENT: usize = 6;
/// Messages of one claim, and the number of running attempts at which the next one is made.
const CLAIM: u32 = 64;
const REFILL: usize = 32;
/// How long a worker may hold a message. What it holds at most, `CLAIM + REFILL` attempts of a minute
/// over `CONCURRENT` connections, is done by then.
const LEASE: Duration = Duration::from_mins(20);
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
    signatory: Signatory,
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
        signatory: Signatory,
        route: Sandbox,
        schedule: Schedule,
        wake: Arc<Notify>,
    ) -> Self {
        Self { store, clock, owner, signatory, route, schedule, wake }
    }

    /// Delivers until `stop`; attempts that are under way are brought to their end.
    pub async fn run(self, stop: CancellationToken) {
        let connections = Semaphore::new(CONCURRENT);
        let mut running = FuturesUnordered::new();
        let mut done = Vec::new();
        loop {
            if running.len() <= REFILL && !stop.is_cancelled() {
                match beside(self.claim(), &mut running, &mut done).await {
                    Ok(leases) => {
                        let attempts =
                            leases.into_iter().map(|lease| self.attempt(lease, &connections));
                        running.extend(attempts);
                    }
                    Err(error) => {
                        tracing::error!(%error, "the queue cannot be read; trying again");
                        let pause = self.pause(STUMBLE, &stop);
                        beside(pause, &mut running, &mut done).await;
                    }
                }
            }
            if done.is_empty() {
                let Some(first) = running.next().await else {
                    if stop.is_cancelled() {
                        return;
                    }
                    self.pause(self.until_next().await, &stop).await;
                    continue;
                };
                done.push(first);
            }
            while let Some(Some(another)) = running.next().now_or_never() {
                done.push(another);
            }
            let settled = std::mem::take(&mut done);
            beside(self.settle(&settled), &mut running, &mut done).await;
        }
    }

    async fn claim(&self) -> Result<Vec<Lease>, StoreError> {
        let now = self.clock.now();
        let leases = self.store.claim(&self.owner, CLAIM, now, now.after(LEASE)).await?;
        if !leases.is_empty() {
            self.signatory.refresh().await;
        }
        Ok(leases)
    }

    /// Writes what happened, however often it takes: a message whose end is not written down would
    /// be sent again. It gives up only with the lease, when the message is due again anyway.
    async fn settle(&self, settled: &[Settlement]) {
        let until = self.clock.now().after(LEASE);
        while let Err(error) = self.store.settle(&self.owner, settled, self.clock.now()).await {
            tracing::error!(%error, count = settled.len(), "deliveries cannot be written down");
            if self.clock.now() > until {
                return;
            }
            tokio::time::sleep(STUMBLE).await;
        }
    }

    async fn attempt(&self, lease: Lease, connections: &Semaphore) -> Settlement {
        // Never closed, so the only answer is a place.
        let _connection = connections.acquire().await;
        let start = std::time::Instant::now();
        let outcome = match &lease.raw {
            Some(raw) => match self.signatory.sign(&lease, raw).await {
                Signed::Message(signed) => self.route.attempt(&lease, &signed).await,
                Signed::AsItIs => self.route.attempt(&lease, raw).await,
                Signed::NotNow(reason) => Outcome::Deferred(reason),
                Signed::Never(reason) => Outcome::Failed(reason),
            },
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
            Ok(None) => IDLE,
            Err(_) => STUMBLE,
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
