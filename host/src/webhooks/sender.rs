//! Posts due deliveries, a bounded number in parallel. Endpoints that fail or are slow share a
//! quarter of the slots, and no owner holds more than half of all slots, or of the slow ones, so that nobody is held up by
//! others. `Retry-After` is honoured. Deliveries start in the order of their due times, but run in
//! parallel and are retried later: order is best effort.

mod endpoint_health;
mod slots;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::Webhooks;
use super::health::reason_to_disable;
use super::post::Reply;
use super::schedule::Schedule;
use crate::clock::Timestamp;
use crate::clock::watch::Watch;
use crate::id::{EventId, WebhookId};
use crate::nodes::{Membership, Share};
use crate::store::{
    DeliveryAttempt, DueDelivery, NextAttempt, StoreError, Waiting, WebhookOwner, WebhookRow,
    WebhookState, drive_while,
};
use crate::trace::{self, Times};
use endpoint_health::{Ending, EndpointReply, EndpointTracker};
use slots::{EndpointHealth, FairQueue, SlotsInUse};

/// How often deliveries are polled that another process has made due.
const POLL: Duration = Duration::from_millis(500);
/// The pause after the database has failed.
const DATABASE_RETRY: Duration = Duration::from_secs(1);
/// How long the outcome of a post may take to be stored. A lease lasts for this and the time-out of a post: until it is over
/// no other node posts the same delivery; after a crash the delivery is posted again then.
const SETTLE_TIME: Duration = Duration::from_secs(30);
/// An endpoint that takes longer counts as slow.
const SLOW_AFTER: Duration = Duration::from_secs(2);
/// Deliveries of a disabled webhook that are ended in one transaction.
const BATCH: u32 = 500;

struct Attempt {
    waiting: Waiting,
    webhook: WebhookRow,
    delivery: DueDelivery,
    /// The endpoint has failed for over an hour and the delivery has waited longer than `give_up`: one more failure
    /// may disable the webhook.
    past_give_up: bool,
}

struct FinishedAttempt {
    owner: WebhookOwner,
    answer: EndpointReply,
    attempt: DeliveryAttempt,
}

#[derive(Debug, Default)]
struct InFlight {
    events: HashMap<WebhookId, HashSet<EventId>>,
    slow: HashSet<(WebhookId, EventId)>,
    taken: SlotsInUse,
    endpoints: EndpointTracker,
}

type Running = FuturesUnordered<BoxFuture<'static, FinishedAttempt>>;

impl Webhooks {
    /// Runs until `stop`, and then finishes the posts under way. It posts to the webhooks whose shares this node has. Among
    /// several nodes it leases each delivery first: when a share moves, a post under way stays with the node that has begun
    /// it, until its outcome is stored.
    pub async fn send(self: Arc<Self>, membership: Arc<Membership>, stop: CancellationToken) {
        let (mut running, mut done) = (Running::new(), Vec::new());
        let mut in_flight = InFlight::default();
        let mut watch = Watch::new(&self.clock);
        // What waits may have been written under a clock that was ahead.
        self.after_the_clock_was_set_back().await;
        while !stop.is_cancelled() {
            if watch.was_set_back(&self.clock) {
                self.after_the_clock_was_set_back().await;
                in_flight.endpoints.forget();
            }
            self.settle(&mut in_flight, &mut running, &mut done).await;
            let startable = drive_while(
                self.select_startable(&in_flight, &membership),
                &mut running,
                &mut done,
            )
            .await;
            let pause = match startable {
                Ok(startable) => {
                    for it in startable.attempts {
                        in_flight.add(&it.waiting, it.delivery.event);
                        running.push(Box::pin(Arc::clone(&self).attempt(it)));
                    }
                    startable.pause
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read due webhook deliveries from the database; retrying");
                    DATABASE_RETRY
                }
            };
            if done.is_empty() {
                tokio::select! {
                    () = stop.cancelled() => {}
                    Some(ended) = running.next() => done.push(ended),
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
        // Each post ends by its time-out. One that was cut off would have no outcome, and would be made again.
        while let Some(ended) = running.next().await {
            done.push(ended);
        }
        self.settle(&mut in_flight, &mut Running::new(), &mut done).await;
    }

    /// Stores the outcomes of attempts. Retries while the database fails: a delivery without a
    /// stored outcome would be posted again.
    async fn settle(
        &self,
        in_flight: &mut InFlight,
        running: &mut Running,
        done: &mut Vec<FinishedAttempt>,
    ) {
        if done.is_empty() {
            return;
        }
        let ended = std::mem::take(done);
        let attempts: Vec<DeliveryAttempt> = ended.iter().map(|it| it.attempt.clone()).collect();
        let mut failures = 0;
        loop {
            let now = self.clock.now();
            let failing_before = now.before(self.rules.give_up);
            let disables = move |health| reason_to_disable(health, failing_before);
            let settled = self.store.settle_deliveries(&attempts, disables, now);
            match drive_while(settled, running, done).await {
                Ok(()) => break,
                Err(error) if failures < 60 => {
                    failures += 1;
                    tracing::error!(%error, count = attempts.len(), "webhook outcomes cannot be stored; retrying");
                    drive_while(tokio::time::sleep(DATABASE_RETRY), running, done).await;
                }
                Err(error) => {
                    tracing::error!(%error, "webhook outcomes were not stored; the events will be posted again");
                    break;
                }
            }
        }
        for it in ended {
            in_flight.remove(&it, &self.rules.schedule);
        }
    }

    /// Moves due times earlier: those written under a clock that was ahead would wait for that
    /// time.
    async fn after_the_clock_was_set_back(&self) {
        let now = self.clock.now();
        let latest = now.after(self.rules.schedule.longest());
        match self.store.mend_due_deliveries(now, latest).await {
            Ok(0) => {}
            Ok(mended) => tracing::warn!(
                mended,
                "the clock was set back: the due times of webhook deliveries were moved earlier"
            ),
            Err(error) => {
                tracing::error!(%error, "due times of webhook deliveries cannot be corrected");
            }
        }
    }

    /// The attempts that may start now, and the pause until the next poll.
    async fn select_startable(
        &self,
        in_flight: &InFlight,
        membership: &Membership,
    ) -> Result<Startable, StoreError> {
        let now = self.clock.now();
        let mut waiting = self.store.waiting_webhooks().await?;
        waiting.retain(|it| membership.holds(Share::of_webhook(it.webhook)));
        // A server that is alone knows what it has under way.
        let lease = membership.held().shares().map(|_| self.poster.time_limit() + SETTLE_TIME);
        let mut startable = Startable { attempts: Vec::new(), pause: POLL };
        for it in waiting.iter().filter(|it| it.state == WebhookState::Disabled) {
            if self.store.end_deliveries(it.webhook, BATCH).await? == u64::from(BATCH) {
                startable.pause = Duration::ZERO;
            }
        }
        waiting.retain(|it| it.state == WebhookState::Active);
        for it in waiting.iter().filter(|it| it.due > now) {
            startable.pause = startable.pause.min(now.until(it.due));
        }
        waiting.retain(|it| it.due <= now);
        let endpoints = &in_flight.endpoints;
        waiting.retain(|it| {
            let until = endpoints.paused_until(it, now);
            startable.pause =
                until.map_or(startable.pause, |until| startable.pause.min(now.until(until)));
            until.is_none()
        });
        let mut taken = in_flight.taken.clone();
        let mut queue = FairQueue::of(waiting, &taken);
        while let Some(it) = queue.next(&taken) {
            let pace = endpoints.pace(&it);
            let free_slots = taken.free_slots(&it, pace, &self.rules);
            if free_slots == 0 {
                continue;
            }
            let Some(webhook) = self.store.webhook(it.webhook).await? else { continue };
            let due = self.due(in_flight, it.webhook, free_slots, (now, lease)).await?;
            taken.take(it.owner, it.webhook, pace, due.len());
            let (lasting, long_ago) =
                (endpoints.fails_lastingly(&it, now), now.before(self.rules.give_up));
            startable.attempts.extend(due.into_iter().map(|delivery| Attempt {
                waiting: it.clone(),
                webhook: webhook.clone(),
                past_give_up: lasting && delivery.handed_out <= long_ago,
                delivery,
            }));
        }
        Ok(startable)
    }

    /// Up to `free_slots` deliveries of a webhook that are due and not under way, leased for that time where there is one.
    async fn due(
        &self,
        in_flight: &InFlight,
        webhook: WebhookId,
        free_slots: usize,
        (now, lease): (Timestamp, Option<Duration>),
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let own = in_flight.events.get(&webhook);
        let mut due = if let Some(time) = lease {
            self.store.lease_deliveries(webhook, free_slots, now, time).await?
        } else {
            let taken = own.map_or(0, HashSet::len);
            self.store.due_deliveries(webhook, free_slots + taken, now).await?
        };
        due.retain(|it| own.is_none_or(|own| !own.contains(&it.event)));
        due.truncate(free_slots);
        Ok(due)
    }

    async fn attempt(self: Arc<Self>, it: Attempt) -> FinishedAttempt {
        let Attempt { webhook, delivery, past_give_up, waiting: _ } = it;
        let event = delivery.event;
        let reply = self.post(&webhook, event, &delivery.body).await;
        let reply = reply.unwrap_or_else(|error| Reply::not_made(&error));
        let now = self.clock.now();
        let next = if reply.is_taken() {
            NextAttempt::None
        } else if reply.status == Some(410) {
            NextAttempt::Gone
        } else {
            let next = self.rules.schedule.next(delivery.attempts + 1, reply.retry_after, now);
            match next {
                Some(at) if past_give_up => NextAttempt::Late(at),
                Some(at) => NextAttempt::At(at),
                None => NextAttempt::Spent,
            }
        };
        let outcome = if reply.is_taken() { "taken" } else { "not taken" };
        metrics::counter!("waxwing_webhook_tries_total", "outcome" => outcome).increment(1);
        metrics::histogram!("waxwing_step_seconds", "step" => "event").record(reply.took);
        trace::posted(&delivery.body, Times::of_the_last(reply.took), reply.status);
        if let Some(error) = &reply.error {
            tracing::info!(webhook = %webhook.id, %event, error, next_attempt = ?next, "webhook endpoint did not accept the event");
        }
        let answer = EndpointReply {
            url: webhook.url,
            ending: if reply.is_taken() {
                Ending::Accepted
            } else {
                Ending::Rejected(reply.retry_after)
            },
            pace: if reply.took > SLOW_AFTER { EndpointHealth::Slow } else { EndpointHealth::Fast },
        };
        let attempt =
            DeliveryAttempt { webhook: webhook.id, event, at: now, log: reply.attempt(now), next };
        FinishedAttempt { owner: webhook.owner, answer, attempt }
    }
}

struct Startable {
    attempts: Vec<Attempt>,
    pause: Duration,
}

impl InFlight {
    fn add(&mut self, waiting: &Waiting, event: EventId) {
        let pace = self.endpoints.pace(waiting);
        if matches!(pace, Some(EndpointHealth::Slow | EndpointHealth::Failing)) {
            self.slow.insert((waiting.webhook, event));
        }
        self.taken.take(waiting.owner, waiting.webhook, pace, 1);
        self.events.entry(waiting.webhook).or_default().insert(event);
    }

    fn remove(&mut self, ended: &FinishedAttempt, schedule: &Schedule) {
        let DeliveryAttempt { webhook, event, at, .. } = ended.attempt;
        // At the pace at which it was begun: what is known of the endpoint may be another one now.
        let pace = self.slow.remove(&(webhook, event)).then_some(EndpointHealth::Slow);
        self.taken.give_back(ended.owner, webhook, pace);
        if let Some(own) = self.events.get_mut(&webhook) {
            own.remove(&event);
            if own.is_empty() {
                self.events.remove(&webhook);
            }
        }
        self.endpoints.record(webhook, &ended.answer, schedule, at);
    }
}
