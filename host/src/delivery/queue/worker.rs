//! The worker that empties the queue: rounds of placing and leasing, attempts as tasks of their own, and
//! a task that writes down how they ended, in groups, while the worker begins others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::Spawner;
use super::lanes::{BATCH, Lanes};
use super::retry_schedule::{Schedule, WhileBackedOff};
use super::settlements::{LEASE, SETTLED, STUMBLE, Settling};
use super::wake::wake;
use crate::clock::watch::Watch;
use crate::clock::{Clock, Timestamp};
use crate::delivery::attempt::Attempts;
use crate::delivery::shaping::admission::{Course, Found, Placement};
use crate::delivery::shaping::lookup_quota::LookUps;
use crate::delivery::shaping::requeue::MOST;
use crate::delivery::shaping::round_skips::{Hold, Passed};
use crate::delivery::shaping::unresolved_domains::{Unresolved, domain_of, waiting_for};
use crate::id::{AccountId, MessageId};
use crate::store::records::{BackedOff, Due, Lane, LaneKind, LaneStart, Lease, Settlement};
use crate::store::{Store, StoreError};

/// How often a round reads messages of further lanes where those before had no place.
const READS: usize = 16;
/// Due messages of a lane that are looked at in one round, at least: the first ones may be too large now.
const EACH: usize = 4;
/// Messages of one lease.
const LEASED: usize = 64;
/// Attempts that may end before it is looked for more.
const FEW: usize = 16;
/// Messages that one round lets wait for a destination that is backed off from, about.
const BACKED_OFF: usize = 256;
/// How often the queue is looked at when nothing wakes the worker: commands change it, too.
const IDLE: Duration = Duration::from_secs(5);
/// The same where messages are due and find no place.
const CROWDED: Duration = Duration::from_secs(1);
/// The shortest pause of a round that has begun nothing.
const SHORTEST: Duration = Duration::from_millis(2);
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
    /// The outcomes of these are stored.
    Settled(Vec<Settlement>),
    LookedUp(String),
}

/// What is under way.
struct UnderWay {
    tell: mpsc::Sender<Event>,
    ended: mpsc::Sender<Settlement>,
    attempts: HashSet<MessageId>,
    look_ups: LookUps,
    /// Domains that are to be looked up again.
    unresolved: Unresolved,
    sandbox: Lanes,
    domains: Lanes,
}

/// What a round has found.
#[derive(Default)]
struct Round {
    passed: Passed,
    chosen: HashMap<MessageId, Course>,
    /// In which nothing is due.
    empty: Vec<Lane>,
    /// Due messages that are to wait.
    backed_off: Vec<BackedOff>,
}

/// Lanes of one kind that a round looks at, each once: until they are given back it does not find them again.
#[derive(Default)]
struct Turns {
    /// The next ones.
    batch: Vec<LaneStart>,
    /// In which there may be more to do.
    kept: Vec<LaneStart>,
    /// In which nothing more is due.
    exhausted: Vec<Lane>,
}

/// What became of a lane in a round.
enum Looked {
    /// Nothing more is due.
    Exhausted,
    /// There may be more.
    More,
    Held(Hold, LaneStart),
}

impl Worker {
    /// Delivers until `stop`; attempts that are under way are brought to their end.
    pub async fn run(self, stop: CancellationToken) {
        let (tell, mut told) = mpsc::channel(self.concurrent.max(SETTLED));
        let (ended, mut ends) = mpsc::channel(self.concurrent.max(SETTLED));
        let settling = Settling {
            store: self.store.clone(),
            clock: self.clock.clone(),
            owner: self.owner.clone(),
        };
        let stored = tell.clone();
        self.spawner.start(Box::pin(async move {
            while let Some(settled) = settling.next(&mut ends).await {
                if stored.send(Event::Settled(settled)).await.is_err() {
                    return;
                }
            }
        }));
        let mut under_way = UnderWay::new(tell, ended);
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
                Some(event) = told.recv() => {
                    self.hear(event, &mut under_way);
                    while let Ok(event) = told.try_recv() {
                        self.hear(event, &mut under_way);
                    }
                }
                () = self.wake.notified() => {}
                () = stop.cancelled(), if !is_stopping => {}
                () = tokio::time::sleep(pause) => {}
            }
            if watch.was_set_back(&self.clock) {
                under_way.unresolved.make_all_due(self.clock.now());
                under_way.sandbox.sweep_now();
                under_way.domains.sweep_now();
                self.after_the_clock_was_set_back().await;
            }
            if tidied.elapsed() >= TIDY {
                tidied = Instant::now();
                self.placement.destinations.tidy(self.clock.now());
                self.placement.destinations.look_for_ended_rests(self.clock.now());
                under_way.unresolved.forget_found(self.clock.now());
                self.release_ended_leases(&under_way).await;
            }
            self.look_up_again(&mut under_way).await;
        }
    }

    fn hear(&self, event: Event, under_way: &mut UnderWay) {
        match event {
            Event::Settled(settled) => {
                for settlement in &settled {
                    under_way.attempts.remove(&settlement.message_id);
                }
                let names = settled.iter().filter_map(|it| it.waits_for.as_deref()).collect();
                self.look_whether_they_are_well(names, &mut under_way.unresolved);
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
        let mut round = Round::default();
        let exchanges = &self.placement.exchanges;
        for (lane, takes_long) in under_way.look_ups.all() {
            if takes_long && exchanges.usable(lane).is_some() {
                round.passed.renewed.insert(lane.clone());
            }
        }
        let most = room.min(LEASED);
        // Each kind of lane waits behind nothing of the other.
        for kind in [LaneKind::Sandbox, LaneKind::Domains] {
            self.choose(kind, most, now, &mut round, under_way).await?;
        }
        if !round.empty.is_empty() {
            self.store.correct_lanes(&round.empty).await?;
        }
        let Round { passed, mut chosen, backed_off, .. } = round;
        if !backed_off.is_empty() {
            self.store.back_off(&backed_off, now).await?;
            let names = backed_off.iter().map(|it| it.waits_for.as_str()).collect();
            self.look_whether_they_are_well(names, &mut under_way.unresolved);
        }
        if chosen.is_empty() {
            if !backed_off.is_empty() {
                return Ok(Duration::ZERO);
            }
            return self.pause(now, &passed, under_way).await;
        }
        let ids: Vec<MessageId> = chosen.keys().copied().collect();
        let leases = self.store.lease(&self.owner, &ids, now, now.after(LEASE)).await?;
        self.attempts.signatory.refresh().await;
        for lease in leases {
            if let Some(course) = chosen.remove(&lease.message_id) {
                under_way.attempts.insert(lease.message_id);
                self.begin(lease, course, under_way.ended.clone());
            }
        }
        Ok(Duration::ZERO)
    }

    /// For how long there is nothing to do, where a round has found nothing to begin.
    async fn pause(
        &self,
        now: Timestamp,
        passed: &Passed,
        under_way: &UnderWay,
    ) -> Result<Duration, StoreError> {
        let lanes = [&under_way.sandbox, &under_way.domains];
        if lanes.iter().any(|it| it.has_more() && !self.is_blocked(it, passed)) {
            return Ok(Duration::ZERO);
        }
        if lanes.iter().any(|it| it.is_waiting()) {
            return Ok(passed.until.unwrap_or(CROWDED).clamp(SHORTEST, CROWDED));
        }
        let due = self.store.next_due(now).await?;
        let until_due = due.map_or(IDLE, |due| self.clock.now().until(due));
        let until_sweep = lanes.iter().map(|it| it.until_sweep()).min().unwrap_or(IDLE);
        Ok(until_due.min(until_sweep).clamp(SHORTEST, IDLE))
    }

    /// Whether all of these lanes go one way, and it is full: nothing behind the first of them has a place.
    fn is_blocked(&self, lanes: &Lanes, passed: &Passed) -> bool {
        let the_way = match lanes.kind() {
            LaneKind::Sandbox => Some(Placement::sandbox_way()),
            LaneKind::Domains => self.placement.the_one_way(),
        };
        the_way.is_some_and(|it| {
            passed.full.contains(&it) || (lanes.is_held_by(&it) && self.placement.room(&it) == 0)
        })
    }

    /// Due messages that have a place, lane by lane.
    async fn choose(
        &self,
        kind: LaneKind,
        most: usize,
        now: Timestamp,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> Result<(), StoreError> {
        if round.chosen.len() >= most || self.is_blocked(under_way.lanes(kind), &round.passed) {
            return Ok(());
        }
        let (look_ups, renewed) = (&under_way.look_ups, &round.passed.renewed);
        let room = |hold: &Hold| match hold {
            Hold::LookUp(domain) if look_ups.has(domain) && !renewed.contains(domain) => 0,
            Hold::Full(..) | Hold::LookUp(_) | Hold::Own => self.placement.room(hold),
        };
        let lanes = match kind {
            LaneKind::Sandbox => &mut under_way.sandbox,
            LaneKind::Domains => &mut under_way.domains,
        };
        let mut turns = Turns { batch: lanes.held_with_room(room), ..Turns::default() };
        let looked = self.look(kind, most, now, &mut turns, round, under_way).await;
        let lanes = under_way.lanes(kind);
        lanes.put_back(turns.batch.into_iter());
        for lane in turns.kept {
            lanes.keep(lane);
        }
        for lane in turns.exhausted {
            lanes.forget(&lane);
        }
        looked
    }

    async fn look(
        &self,
        kind: LaneKind,
        most: usize,
        now: Timestamp,
        turns: &mut Turns,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> Result<(), StoreError> {
        let most_backed_off = round.backed_off.len() + BACKED_OFF;
        for _ in 0..READS {
            let lanes = under_way.lanes(kind);
            lanes.read(&self.store, now).await?;
            let further = lanes.batch(BATCH.saturating_sub(turns.batch.len()));
            turns.batch.extend(further);
            if turns.batch.is_empty() {
                if lanes.has_more() {
                    continue;
                }
                break;
            }
            let each = (most - round.chosen.len()).div_ceil(turns.batch.len()).max(EACH);
            let found =
                self.store.due_in(&turns.batch, now, u32::try_from(each).unwrap_or(64)).await?;
            let mut looked_at = mem::take(&mut turns.batch).into_iter().zip(found);
            while round.chosen.len() < most
                && let Some((lane, due)) = looked_at.next()
            {
                match self.look_at(&lane, due, each, most, round, under_way) {
                    Looked::Exhausted => turns.exhausted.push(lane.lane),
                    Looked::More => turns.kept.push(LaneStart { after: None, ..lane }),
                    Looked::Held(hold, lane) => under_way.lanes(kind).hold(hold, lane),
                }
            }
            let rest: Vec<LaneStart> = looked_at.map(|(lane, _)| lane).collect();
            under_way.lanes(kind).put_back(rest.into_iter());
            if round.chosen.len() >= most
                || round.backed_off.len() >= most_backed_off
                || self.is_blocked(under_way.lanes(kind), &round.passed)
            {
                break;
            }
        }
        Ok(())
    }

    /// Finds places for the first messages of a lane.
    fn look_at(
        &self,
        lane: &LaneStart,
        due: Vec<Due>,
        each: usize,
        most: usize,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> Looked {
        if due.is_empty() && lane.after.is_none() {
            round.empty.push(lane.lane.clone());
            return Looked::Exhausted;
        }
        let (is_all, last) = (due.len() < each, due.last().map(Due::position));
        let is_held_by = |it| Looked::Held(it, LaneStart { lane: lane.lane.clone(), after: None });
        let (mut has_some, mut is_crowded) = (false, lane.after.is_some() && due.is_empty());
        for due in due {
            if round.chosen.len() >= most {
                return Looked::More;
            }
            // A lease may have ended whose attempt has not.
            if under_way.attempts.contains(&due.message_id) {
                continue;
            }
            let mut found = self.placement.find(&due, &mut round.passed);
            if matches!(found, Found::Unknown) {
                self.look_up(&due.lane, Some(due.account_id), under_way);
                if under_way.look_ups.has(&due.lane) {
                    return is_held_by(Hold::LookUp(due.lane));
                }
                // There are too many of this account's.
                round.passed.renewed.insert(due.lane.clone());
                found = self.placement.find(&due, &mut round.passed);
            }
            match found {
                Found::Course(course) => {
                    round.chosen.insert(due.message_id, course);
                    has_some = true;
                }
                Found::BackOff(rest) => match self.schedule.back_off(&due, &rest, self.clock.now())
                {
                    WhileBackedOff::Wait(it) => round.backed_off.push(it),
                    WhileBackedOff::GiveUp(report) => {
                        round.chosen.insert(due.message_id, Course::Over(report));
                        has_some = true;
                    }
                },
                Found::Full(hold, _) => return is_held_by(hold),
                // Another one of the lane may be smaller.
                Found::Crowded => is_crowded = true,
                Found::Unknown => return is_held_by(Hold::Own),
            }
        }
        match (is_crowded, is_all) {
            (false, true) => Looked::Exhausted,
            (false, false) => Looked::More,
            (true, _) if has_some => is_held_by(Hold::Own),
            (true, true) => is_held_by(Hold::Own),
            // The next look goes on behind these.
            (true, false) => {
                Looked::Held(Hold::Own, LaneStart { lane: lane.lane.clone(), after: last })
            }
        }
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

    fn begin(&self, lease: Lease, course: Course, ended: mpsc::Sender<Settlement>) {
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
            let attempt = &settlement.attempt;
            tracing::info!(
                message = %lease.message_id,
                account = %lease.account_id,
                attempt = lease.attempt,
                state,
                route = attempt.route,
                domain = lease.recipient.domain().map(tracing::field::display),
                host = attempt.host,
                code = attempt.code,
                enhanced = attempt.enhanced,
                next_attempt = settlement.next_attempt.map(tracing::field::display),
                "delivery attempted"
            );
            drop(ended.send(settlement).await);
        }));
    }

    async fn release_ended_leases(&self, under_way: &UnderWay) {
        let now = self.clock.now();
        match self.store.release_ended_leases(&under_way.attempts, now).await {
            Ok(0) => {}
            Ok(released) => {
                tracing::warn!(
                    released,
                    "leases expired before their attempts ended; the messages are due again"
                );
            }
            Err(error) => {
                tracing::error!(%error, "looking for expired leases in the queue failed; retrying in the next delivery round");
            }
        }
    }

    /// What was written down as waiting for hosts may have missed that they are well.
    fn look_whether_they_are_well(&self, names: BTreeSet<&str>, unresolved: &mut Unresolved) {
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
                "the clock was set back: the due times of waiting messages were moved earlier"
            ),
            Err(error) => {
                tracing::error!(%error, "due times cannot be corrected after a change of the clock");
            }
        }
    }
}

impl UnderWay {
    fn new(tell: mpsc::Sender<Event>, ended: mpsc::Sender<Settlement>) -> Self {
        Self {
            tell,
            ended,
            attempts: HashSet::new(),
            look_ups: LookUps::default(),
            unresolved: Unresolved::default(),
            sandbox: Lanes::new(LaneKind::Sandbox),
            domains: Lanes::new(LaneKind::Domains),
        }
    }

    fn lanes(&mut self, kind: LaneKind) -> &mut Lanes {
        match kind {
            LaneKind::Sandbox => &mut self.sandbox,
            LaneKind::Domains => &mut self.domains,
        }
    }
}
