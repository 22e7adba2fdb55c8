//! The worker that empties the queue: rounds of placing and leasing, attempts as tasks of their own,
//! ends written down in groups.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempts;
use super::look_ups::LookUps;
use super::passed::Passed;
use super::placement::{Course, Found, Placement};
use super::recovery::{MOST, wake};
use super::route::SANDBOX;
use super::schedule::Schedule;
use super::spawner::Spawner;
use super::unresolved::{Unresolved, domain_of, waiting_for};
use crate::clock::watch::Watch;
use crate::clock::{Clock, Timestamp};
use crate::id::{AccountId, MessageId};
use crate::store::records::{Lease, Position, Settlement};
use crate::store::{Store, StoreError};

/// Due messages that are looked at in one query, and how many queries a round makes at most.
const PAGE: u32 = 256;
const PAGES: usize = 16;
/// Messages of one lease.
const LEASED: usize = 64;
/// Attempts that may end before it is looked for more.
const FEW: usize = 16;
/// Ends of attempts that are written in one transaction.
const SETTLED: usize = 256;
/// How long a worker may hold a message. It may wait for a connection behind others, and its own
/// attempt has a quarter of an hour.
const LEASE: Duration = Duration::from_hours(1);
/// How often the queue is looked at when nothing wakes the worker: commands change it, too.
const IDLE: Duration = Duration::from_secs(5);
/// The same where messages are due and find no place.
const CROWDED: Duration = Duration::from_secs(1);
/// The shortest pause of a round that has begun nothing.
const SHORTEST: Duration = Duration::from_millis(2);
/// How long it waits after the database failed.
const STUMBLE: Duration = Duration::from_secs(1);
/// How often kept connections are looked at.
const TIDY: Duration = Duration::from_secs(5);

/// The worker that empties the queue.
#[derive(Debug)]
pub struct Worker {
    /// The queue.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Names this process in its leases.
    pub owner: String,
    /// Makes the attempts.
    pub attempts: Arc<Attempts>,
    /// Finds places for them.
    pub placement: Arc<Placement>,
    /// When there is another one.
    pub schedule: Arc<Schedule>,
    /// Attempts at one time, at least 1.
    pub concurrent: usize,
    /// Tells of new messages.
    pub wake: Arc<Notify>,
    /// Starts the attempts.
    pub spawner: Spawner,
}

/// What a task of the worker tells it.
enum Event {
    Settled(Box<Settlement>),
    LookedUp(String),
}

/// What is under way.
struct UnderWay {
    tell: mpsc::Sender<Event>,
    attempts: HashSet<MessageId>,
    look_ups: LookUps,
    /// Domains that are to be looked up again.
    unresolved: Unresolved,
    /// Where the next round goes on that found no place for anything before.
    resume: Option<Position>,
}

impl Worker {
    /// Delivers until `stop`; attempts that are under way are brought to their end.
    pub async fn run(self, stop: CancellationToken) {
        let (tell, mut told) = mpsc::channel(self.concurrent.max(SETTLED));
        let mut under_way = UnderWay::new(tell);
        let mut watch = Watch::new(&self.clock);
        let mut tidied = Instant::now();
        loop {
            let is_stopping = stop.is_cancelled();
            if is_stopping && under_way.attempts.is_empty() {
                return;
            }
            let pause = if is_stopping {
                IDLE
            } else {
                wake(&self.store, &self.placement, self.clock.now()).await;
                self.fill(&mut under_way).await
            };
            tokio::select! {
                Some(first) = told.recv() => {
                    let mut settled = Vec::new();
                    self.hear(first, &mut under_way, &mut settled);
                    while settled.len() < SETTLED && let Ok(another) = told.try_recv() {
                        self.hear(another, &mut under_way, &mut settled);
                    }
                    if !settled.is_empty() {
                        self.settle(&settled).await;
                        self.look_whether_they_are_well(&settled, &mut under_way.unresolved);
                    }
                }
                () = self.wake.notified() => {}
                () = stop.cancelled(), if !is_stopping => {}
                () = tokio::time::sleep(pause) => {}
            }
            if watch.was_set_back(&self.clock) {
                under_way.unresolved.make_all_due(self.clock.now());
                self.after_the_clock_was_set_back().await;
            }
            if tidied.elapsed() >= TIDY {
                tidied = Instant::now();
                self.placement.destinations.tidy(self.clock.now());
                self.placement.destinations.look_for_ended_rests(self.clock.now());
                under_way.unresolved.forget_found(self.clock.now());
            }
            self.look_up_again(&mut under_way).await;
        }
    }

    fn hear(&self, event: Event, under_way: &mut UnderWay, settled: &mut Vec<Settlement>) {
        match event {
            Event::Settled(settlement) => {
                under_way.attempts.remove(&settlement.message_id);
                settled.push(*settlement);
            }
            Event::LookedUp(lane) => {
                under_way.look_ups.end(&lane);
                self.has_looked_up(&lane, under_way);
            }
        }
    }

    fn has_looked_up(&self, lane: &str, under_way: &mut UnderWay) {
        let (exchanges, now) = (&self.placement.exchanges, self.clock.now());
        let UnderWay { unresolved, look_ups, .. } = under_way;
        if !exchanges.knows_where(lane) {
            return unresolved.add(lane, now);
        }
        let was_missed = unresolved.found(lane, now);
        self.placement.destinations.wakes().call(&waiting_for(lane), unresolved.trust(lane));
        if was_missed {
            for other in unresolved.others(lane, look_ups, |it| exchanges.known(it).is_none()) {
                self.look_up(&other, None, under_way);
            }
        }
    }

    /// Begins what can be begun, and says how long there is nothing more to do.
    async fn fill(&self, under_way: &mut UnderWay) -> Duration {
        let busy = under_way.attempts.len();
        let room = self.concurrent.saturating_sub(busy);
        // Not for every attempt that ends: one query serves many.
        // The more there are, the shorter are the lines before each destination.
        let shortened = [1, 1, 2, 8].get(busy * 4 / self.concurrent.max(1)).copied().unwrap_or(8);
        self.placement.destinations.shorten(shortened);
        if room == 0 || (busy > 0 && room < FEW.min(self.concurrent / 8)) {
            return IDLE;
        }
        match self.round(room, under_way).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "the queue cannot be read; trying again");
                STUMBLE
            }
        }
    }

    async fn round(&self, room: usize, under_way: &mut UnderWay) -> Result<Duration, StoreError> {
        let now = self.clock.now();
        let mut passed = Passed::default();
        let most = room.min(LEASED);
        let mut chosen = self.choose_for_sandbox(most, now, &mut passed, under_way).await?;
        let others = most.saturating_sub(chosen.len());
        chosen.extend(self.choose(others, now, &mut passed, under_way).await?);
        if chosen.is_empty() {
            if under_way.resume.is_some() {
                return Ok(Duration::ZERO);
            }
            return if passed.is_empty() {
                let due = self.store.next_due().await?;
                Ok(due.map_or(IDLE, |due| self.clock.now().until(due)).clamp(SHORTEST, IDLE))
            } else {
                Ok(passed.until.unwrap_or(CROWDED).clamp(SHORTEST, CROWDED))
            };
        }
        let ids: Vec<MessageId> = chosen.keys().copied().collect();
        let leases = self.store.lease(&self.owner, &ids, now, now.after(LEASE)).await?;
        self.attempts.signatory.refresh().await;
        for lease in leases {
            if let Some(course) = chosen.remove(&lease.message_id) {
                under_way.attempts.insert(lease.message_id);
                self.begin(lease, course, under_way.tell.clone());
            }
        }
        Ok(Duration::ZERO)
    }

    /// Due messages for the sandbox inbox that have a place: they wait behind nothing else.
    async fn choose_for_sandbox(
        &self,
        most: usize,
        now: Timestamp,
        passed: &mut Passed,
        under_way: &UnderWay,
    ) -> Result<HashMap<MessageId, Course>, StoreError> {
        let mut chosen = HashMap::new();
        let limit = u32::try_from(most).unwrap_or(PAGE);
        for due in self.store.due_in_sandbox(now, limit).await? {
            if under_way.attempts.contains(&due.message_id) {
                continue;
            }
            match self.placement.find(&due, passed) {
                Some(Found::Course(course)) => {
                    chosen.insert(due.message_id, course);
                }
                Some(Found::Crowded) => {}
                Some(Found::Full(_) | Found::Unknown) | None => break,
            }
        }
        Ok(chosen)
    }

    /// Other due messages that have a place. Where many have none, a round goes only so far, and the next
    /// one goes on from there.
    async fn choose(
        &self,
        most: usize,
        now: Timestamp,
        passed: &mut Passed,
        under_way: &mut UnderWay,
    ) -> Result<HashMap<MessageId, Course>, StoreError> {
        let mut chosen = HashMap::new();
        passed.lanes.insert(SANDBOX.to_owned());
        let exchanges = &self.placement.exchanges;
        for (lane, takes_long) in under_way.look_ups.all() {
            let is_renewed = takes_long && exchanges.usable(lane).is_some();
            let lanes = if is_renewed { &mut passed.renewed } else { &mut passed.lanes };
            lanes.insert(lane.clone());
        }
        let mut after = under_way.resume.take();
        for _ in 0..PAGES {
            let page = self.store.due(now, after.as_ref(), &passed.lanes, PAGE).await?;
            let is_short = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            let begun = after;
            for due in page {
                if chosen.len() >= most {
                    return Ok(chosen);
                }
                after = Some(due.position());
                // Under a clock that jumped ahead a lease may seem to be over.
                if passed.lanes.contains(&due.lane) || under_way.attempts.contains(&due.message_id)
                {
                    continue;
                }
                let mut found = self.placement.find(&due, passed);
                if matches!(found, Some(Found::Unknown)) {
                    self.look_up(&due.lane, Some(due.account_id), under_way);
                    if under_way.look_ups.has(&due.lane) {
                        passed.lanes.insert(due.lane);
                        continue;
                    }
                    // There are too many of this account's.
                    passed.renewed.insert(due.lane.clone());
                    found = self.placement.find(&due, passed);
                }
                match found {
                    Some(Found::Course(course)) => {
                        chosen.insert(due.message_id, course);
                    }
                    Some(Found::Full(_)) if self.placement.has_one_way() => return Ok(chosen),
                    Some(Found::Full(_) | Found::Crowded | Found::Unknown) | None => {}
                }
            }
            if is_short {
                after = self.store.end_of_span(now, begun.as_ref()).await?;
                if after.is_none() {
                    return Ok(chosen);
                }
            }
        }
        under_way.resume = after;
        Ok(chosen)
    }

    async fn look_up_again(&self, under_way: &mut UnderWay) {
        let UnderWay { unresolved, look_ups, .. } = under_way;
        for lane in unresolved.due(&self.store, look_ups, self.clock.now()).await {
            self.look_up(&lane, None, under_way);
        }
    }

    fn look_up(&self, lane: &str, account: Option<AccountId>, under_way: &mut UnderWay) {
        if !under_way.look_ups.begin(lane, account) {
            return;
        }
        let (exchanges, tell) = (Arc::clone(&self.placement.exchanges), under_way.tell.clone());
        let lane = lane.to_owned();
        self.spawner.start(Box::pin(async move {
            // Whatever becomes of it, the lane is looked at again.
            let looked_up = AssertUnwindSafe(exchanges.look_up(&lane)).catch_unwind().await;
            if looked_up.is_err() {
                tracing::error!(domain = lane, "the look-up of a domain panicked");
            }
            // Nobody listens any more when the worker has ended.
            drop(tell.send(Event::LookedUp(lane)).await);
        }));
    }

    fn begin(&self, lease: Lease, course: Course, tell: mpsc::Sender<Event>) {
        let (attempts, schedule) = (Arc::clone(&self.attempts), Arc::clone(&self.schedule));
        let clock = self.clock.clone();
        self.spawner.start(Box::pin(async move {
            let (start, started_at) = (Instant::now(), clock.now());
            let report = attempts.make(&lease, course).await;
            metrics::histogram!("waxwing_step_seconds", "step" => "deliver")
                .record(start.elapsed());
            let settlement = schedule.settle(&lease, report, started_at, clock.now());
            let state = settlement.state.word();
            metrics::counter!("waxwing_deliveries_total", "state" => state).increment(1);
            tracing::info!(
                message = %lease.message_id,
                attempt = lease.attempt,
                state,
                route = settlement.attempt.route,
                "delivery attempted"
            );
            drop(tell.send(Event::Settled(Box::new(settlement))).await);
        }));
    }

    /// Writes what happened, however often it takes: a message whose end is not written down would
    /// be sent again. It gives up only with the lease, when the message is due again anyway.
    async fn settle(&self, settled: &[Settlement]) {
        let begun = Instant::now();
        while let Err(error) = self.store.settle(&self.owner, settled, self.clock.now()).await {
            tracing::error!(%error, count = settled.len(), "deliveries cannot be written down");
            if begun.elapsed() > LEASE {
                return;
            }
            tokio::time::sleep(STUMBLE).await;
        }
    }

    /// What was written down as waiting for hosts may have missed that they are well.
    fn look_whether_they_are_well(&self, settled: &[Settlement], unresolved: &mut Unresolved) {
        let names: BTreeSet<&str> =
            settled.iter().filter_map(|it| it.waits_for.as_deref()).collect();
        let (destinations, now) = (&self.placement.destinations, self.clock.now());
        for name in names {
            match domain_of(name) {
                Some(lane) if self.placement.exchanges.knows_where(lane) => {
                    destinations.wakes().call(name, unresolved.trust(lane));
                }
                Some(lane) => unresolved.is_waited_for(lane, now),
                // The routes were changed during the attempt.
                None if self.placement.is_gone(name) => destinations.wakes().call(name, MOST),
                None => destinations.one_waits(name, now),
            }
        }
    }

    async fn after_the_clock_was_set_back(&self) {
        match self.store.mend_due_times(self.clock.now()).await {
            Ok(0) => {}
            Ok(mended) => tracing::warn!(
                mended,
                "the clock was set back: messages that waited for a moment of the other time are due \
                 earlier now"
            ),
            Err(error) => tracing::error!(%error, "due times could not be looked at"),
        }
    }
}

impl UnderWay {
    fn new(tell: mpsc::Sender<Event>) -> Self {
        let (look_ups, unresolved) = (LookUps::default(), Unresolved::default());
        Self { tell, attempts: HashSet::new(), look_ups, unresolved, resume: None }
    }
}
