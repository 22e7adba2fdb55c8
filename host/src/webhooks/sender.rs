//! Posts due deliveries, a bounded number in parallel. Endpoints that fail or are slow share a
//! quarter of the slots, and no owner has more than half of any, so that nobody is held up by
//! others. `Retry-After` is honoured. Deliveries start in the order of their due times, but run in
//! parallel and are retried later: order is best effort.

mod end_points;
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
use crate::store::{
    DueDelivery, NextTry, StoreError, Tried, Waiting, WebhookOwner, WebhookRow, WebhookState,
    drive_while,
};
use end_points::{Answer, EndPoints, Ending};
use slots::{FairQueue, Pace, SlotsInUse};

/// How often deliveries are polled that another process has made due.
const POLL: Duration = Duration::from_millis(500);
/// The pause after the database has failed.
const DATABASE_RETRY: Duration = Duration::from_secs(1);
/// How long attempts may take after a stop; those that are cut off are made again.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// An endpoint that takes longer counts as slow.
const SLOW_AFTER: Duration = Duration::from_secs(2);
/// Deliveries of a disabled webhook that are ended in one transaction.
const BATCH: u32 = 500;

struct Try {
    waiting: Waiting,
    webhook: WebhookRow,
    delivery: DueDelivery,
    /// The endpoint fails lastingly, and the delivery is as old as any may get.
    is_late: bool,
}

struct Ended {
    owner: WebhookOwner,
    answer: Answer,
    tried: Tried,
}

#[derive(Debug, Default)]
struct UnderWay {
    events: HashMap<WebhookId, HashSet<EventId>>,
    slow: HashSet<(WebhookId, EventId)>,
    taken: SlotsInUse,
    end_points: EndPoints,
}

type Running = FuturesUnordered<BoxFuture<'static, Ended>>;

impl Webhooks {
    /// Runs until `stop`.
    pub async fn send(self: Arc<Self>, stop: CancellationToken) {
        let (mut running, mut done) = (Running::new(), Vec::new());
        let mut under_way = UnderWay::default();
        let mut watch = Watch::new(&self.clock);
        // What waits may have been written under a clock that was ahead.
        self.after_the_clock_was_set_back().await;
        while !stop.is_cancelled() {
            if watch.was_set_back(&self.clock) {
                self.after_the_clock_was_set_back().await;
                under_way.end_points.forget();
            }
            self.settle(&mut under_way, &mut running, &mut done).await;
            let begun = drive_while(self.begin(&under_way), &mut running, &mut done).await;
            let pause = match begun {
                Ok(begun) => {
                    for it in begun.tries {
                        under_way.add(&it.waiting, it.delivery.event);
                        running.push(Box::pin(Arc::clone(&self).attempt(it)));
                    }
                    begun.pause
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
        let rest = async {
            while let Some(ended) = running.next().await {
                done.push(ended);
            }
        };
        // What is cut off now was not taken as far as anybody knows; the next start tries it again.
        let _cut_off = tokio::time::timeout(SHUTDOWN_GRACE, rest).await;
        self.settle(&mut under_way, &mut Running::new(), &mut done).await;
    }

    /// Stores the outcomes of attempts. Retries while the database fails: a delivery without a
    /// stored outcome would be posted again.
    async fn settle(&self, under_way: &mut UnderWay, running: &mut Running, done: &mut Vec<Ended>) {
        if done.is_empty() {
            return;
        }
        let ended = std::mem::take(done);
        let tried: Vec<Tried> = ended.iter().map(|it| it.tried.clone()).collect();
        let mut failures = 0;
        loop {
            let now = self.clock.now();
            let failing_before = now.before(self.rules.give_up);
            let disables = move |health| reason_to_disable(health, failing_before);
            let settled = self.store.settle_deliveries(&tried, disables, now);
            match drive_while(settled, running, done).await {
                Ok(()) => break,
                Err(error) if failures < 60 => {
                    failures += 1;
                    tracing::error!(%error, count = tried.len(), "webhook outcomes cannot be stored; retrying");
                    drive_while(tokio::time::sleep(DATABASE_RETRY), running, done).await;
                }
                Err(error) => {
                    tracing::error!(%error, "webhook outcomes were not stored; the events will be posted again");
                    break;
                }
            }
        }
        for it in ended {
            under_way.remove(&it, &self.rules.schedule);
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
    async fn begin(&self, under_way: &UnderWay) -> Result<Begun, StoreError> {
        let now = self.clock.now();
        let mut waiting = self.store.waiting_webhooks().await?;
        let mut begun = Begun { tries: Vec::new(), pause: POLL };
        for it in waiting.iter().filter(|it| it.state == WebhookState::Disabled) {
            if self.store.end_deliveries(it.webhook, BATCH).await? == u64::from(BATCH) {
                begun.pause = Duration::ZERO;
            }
        }
        waiting.retain(|it| it.state == WebhookState::Active);
        for it in waiting.iter().filter(|it| it.due > now) {
            begun.pause = begun.pause.min(now.until(it.due));
        }
        waiting.retain(|it| it.due <= now);
        let end_points = &under_way.end_points;
        waiting.retain(|it| {
            let until = end_points.paused_until(it, now);
            begun.pause = until.map_or(begun.pause, |until| begun.pause.min(now.until(until)));
            until.is_none()
        });
        let mut taken = under_way.taken.clone();
        let mut queue = FairQueue::of(waiting, &taken);
        while let Some(it) = queue.next(&taken) {
            let pace = end_points.pace(&it);
            let free_slots = taken.free_slots(&it, pace, &self.rules);
            if free_slots == 0 {
                continue;
            }
            let due = self.due(under_way, it.webhook, free_slots, now).await?;
            let Some(webhook) = self.store.webhook(it.webhook).await? else { continue };
            taken.take(it.owner, it.webhook, pace, due.len());
            let (lasting, long_ago) =
                (end_points.fails_lastingly(&it, now), now.before(self.rules.give_up));
            begun.tries.extend(due.into_iter().map(|delivery| Try {
                waiting: it.clone(),
                webhook: webhook.clone(),
                is_late: lasting && delivery.handed_out <= long_ago,
                delivery,
            }));
        }
        Ok(begun)
    }

    /// Up to `room` deliveries of a webhook that are due and not under way.
    async fn due(
        &self,
        under_way: &UnderWay,
        webhook: WebhookId,
        free_slots: usize,
        now: Timestamp,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let own = under_way.events.get(&webhook);
        let taken = own.map_or(0, HashSet::len);
        let mut due = self.store.due_deliveries(webhook, free_slots + taken, now).await?;
        due.retain(|it| own.is_none_or(|own| !own.contains(&it.event)));
        due.truncate(free_slots);
        Ok(due)
    }

    async fn attempt(self: Arc<Self>, it: Try) -> Ended {
        let Try { webhook, delivery, is_late, waiting: _ } = it;
        let event = delivery.event;
        let reply = self.post(&webhook, event, &delivery.body).await;
        let reply = reply.unwrap_or_else(|error| Reply::not_made(&error));
        let now = self.clock.now();
        let next = if reply.is_taken() {
            NextTry::None
        } else if reply.status == Some(410) {
            NextTry::Gone
        } else {
            let next = self.rules.schedule.next(delivery.attempts + 1, reply.retry_after, now);
            match next {
                Some(at) if is_late => NextTry::Late(at),
                Some(at) => NextTry::At(at),
                None => NextTry::Spent,
            }
        };
        let outcome = if reply.is_taken() { "taken" } else { "not taken" };
        metrics::counter!("waxwing_webhook_tries_total", "outcome" => outcome).increment(1);
        metrics::histogram!("waxwing_step_seconds", "step" => "event").record(reply.took);
        if let Some(error) = &reply.error {
            tracing::info!(webhook = %webhook.id, %event, error, ?next, "webhook endpoint did not accept the event");
        }
        let answer = Answer {
            url: webhook.url,
            ending: if reply.is_taken() {
                Ending::Taken
            } else {
                Ending::NotTaken(reply.retry_after)
            },
            pace: if reply.took > SLOW_AFTER { Pace::Slow } else { Pace::Quick },
        };
        let tried = Tried { webhook: webhook.id, event, at: now, log: reply.log(now), next };
        Ended { owner: webhook.owner, answer, tried }
    }
}

struct Begun {
    tries: Vec<Try>,
    pause: Duration,
}

impl UnderWay {
    fn add(&mut self, waiting: &Waiting, event: EventId) {
        let pace = self.end_points.pace(waiting);
        if matches!(pace, Some(Pace::Slow | Pace::Failing)) {
            self.slow.insert((waiting.webhook, event));
        }
        self.taken.take(waiting.owner, waiting.webhook, pace, 1);
        self.events.entry(waiting.webhook).or_default().insert(event);
    }

    fn remove(&mut self, ended: &Ended, schedule: &Schedule) {
        let Tried { webhook, event, at, .. } = ended.tried;
        // At the pace at which it was begun: what is known of the end point may be another one now.
        let pace = self.slow.remove(&(webhook, event)).then_some(Pace::Slow);
        self.taken.give_back(ended.owner, webhook, pace);
        if let Some(own) = self.events.get_mut(&webhook) {
            own.remove(&event);
            if own.is_empty() {
                self.events.remove(&webhook);
            }
        }
        self.end_points.record(webhook, &ended.answer, schedule, at);
    }
}
