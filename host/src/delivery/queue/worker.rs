//! The queue worker: rounds of admission and leasing, attempts as tasks, and a task that stores their outcomes in groups.

mod round;
mod under_way;

use std::collections::HashMap;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::lanes::{BATCH, Lanes};
use super::requeue::{requeue_recovered, requeue_waiting};
use super::retry_schedule::{RetrySchedule, WhileBackedOff, after_last_reply, interrupted};
use super::settlements::{DATABASE_RETRY, LEASE, MAX_GROUP, SettlementWriter};
use super::{Spawner, at_lease};
use crate::clock::watch::Watch;
use crate::clock::{Clock, Timestamp};
use crate::delivery::attempt::Attempts;
use crate::delivery::outcome::Report;
use crate::delivery::routing::route::RouteKey;
use crate::delivery::shaping::admission::{Admission, AdmissionControl, Plan};
use crate::delivery::shaping::reason::Reason;
use crate::delivery::shaping::round_skips::{Bottleneck, RoundSkips};
use crate::id::{AccountId, MessageId};
use crate::message::waits_for::WaitsFor;
use crate::nodes::{Held, Membership};
use crate::store::records::{Due, LaneKind, LaneStart, Lease, LeaseFacts, Lessee, Settlement};
use crate::store::{Store, StoreError};
use crate::trace::{self, Attempted, Times};
use round::{LaneOutcome, LaneTurns, Round};
use under_way::{Event, UnderWay};

/// How often a round reads further lanes where those before had no slot, at most.
const MAX_READS: usize = 16;
/// Due messages of a lane that a round reads at least: the first ones may be too large now.
const MIN_PER_LANE: usize = 4;
/// Messages of one lease, at most.
const MAX_LEASES: usize = 64;
/// Attempts that must be free before the next round: one query serves many.
const MIN_FREE_ATTEMPTS: usize = 16;
/// Messages that one round defers because of a back-off, about.
const MAX_BACKED_OFF: usize = 256;
/// How often the queue is read when nothing wakes the worker: commands change it, too.
pub const IDLE_PAUSE: Duration = Duration::from_secs(5);
/// The same among several nodes: what another one accepts wakes nobody here.
const SHARED_IDLE_PAUSE: Duration = Duration::from_millis(500);
/// The pause where messages are due and have no slot.
const CROWDED_PAUSE: Duration = Duration::from_secs(1);
/// The pause while this node may begin nothing, or has just lost a share.
const WITHOUT_SHARES_PAUSE: Duration = Duration::from_millis(100);
/// The shortest pause after a round that started nothing.
const MIN_PAUSE: Duration = Duration::from_millis(2);
/// How often idle connections and ended back-offs are checked.
const TIDY_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Worker {
    pub store: Store,
    pub clock: Clock,
    /// Names this process in its leases.
    pub owner: String,
    /// Which lanes are this node's.
    pub membership: Arc<Membership>,
    pub attempts: Arc<Attempts>,
    pub admission: Arc<AdmissionControl>,
    pub schedule: Arc<RetrySchedule>,
    /// Attempts at one time, at least 1.
    pub concurrent: usize,
    /// Notified of new messages.
    pub wake: Arc<Notify>,
    pub spawner: Spawner,
}

impl Worker {
    /// Delivers until `stop`, and then finishes the attempts under way.
    pub async fn run(self, stop: CancellationToken) {
        let (tell, mut events) = mpsc::channel(self.concurrent.max(MAX_GROUP));
        let (ended, mut ends) = mpsc::channel(self.concurrent.max(MAX_GROUP));
        let settling = SettlementWriter {
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
        let mut under_way = UnderWay::new(tell, ended, self.membership.changes());
        let mut watch = Watch::new(&self.clock);
        let mut tidied = Instant::now();
        loop {
            under_way.follow(&self.membership);
            let is_stopping = stop.is_cancelled();
            if is_stopping && under_way.attempts.is_empty() {
                return;
            }
            let pause = if is_stopping || self.admission.is_paused() || self.is_held().await {
                IDLE_PAUSE
            } else if !self.membership.is_in_time() {
                WITHOUT_SHARES_PAUSE
            } else {
                requeue_waiting(&self.store, &self.admission, self.clock.now()).await;
                self.fill(&mut under_way).await
            };
            tokio::select! {
                Some(event) = events.recv() => {
                    self.handle(event, &mut under_way);
                    while let Ok(event) = events.try_recv() {
                        self.handle(event, &mut under_way);
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
                self.mend_due_times_after_clock_change().await;
            }
            if tidied.elapsed() >= TIDY_EVERY {
                tidied = Instant::now();
                self.admission.destinations.tidy(self.clock.now());
                self.admission.destinations.request_probes(self.clock.now());
                under_way.unresolved.expire_found(self.clock.now());
                self.release_ended_leases(&under_way).await;
            }
            self.look_up_again(&mut under_way).await;
        }
    }

    /// Whether delivery is held since a backup was restored; the store is asked until somebody has released it.
    async fn is_held(&self) -> bool {
        if !self.admission.is_held() {
            return false;
        }
        match self.store.delivery_hold().await {
            Ok(Some(_)) => true,
            Ok(None) => {
                self.admission.is_held.store(false, Ordering::Relaxed);
                metrics::gauge!("waxwing_delivery_held").set(0.0);
                tracing::info!("delivery is released: mail of the queue is sent from now on");
                false
            }
            Err(error) => {
                tracing::error!(%error, "cannot read whether delivery is still held; it stays held");
                true
            }
        }
    }

    fn handle(&self, event: Event, under_way: &mut UnderWay) {
        match event {
            Event::Settled(settled) => {
                for settlement in &settled {
                    under_way.attempts.remove(&settlement.message_id);
                }
                let waited_for = settled.iter().filter_map(|it| it.verdict.waits_for()).collect();
                requeue_recovered(waited_for, &self.admission, &mut under_way.unresolved);
            }
            Event::LookupDone(lane) => {
                under_way.lookups.end(&lane);
                self.finish_lookup(&lane, under_way);
            }
        }
    }

    fn finish_lookup(&self, lane: &str, under_way: &mut UnderWay) {
        let (mx, now) = (&self.admission.mx, self.clock.now());
        let UnderWay { unresolved, lookups, .. } = under_way;
        if !mx.knows_where(lane) {
            return unresolved.add(lane, now);
        }
        let was_missed = unresolved.record_found(lane, now);
        self.admission
            .destinations
            .requeue()
            .request(WaitsFor::Mx(lane.to_owned()), unresolved.requeue_limit(lane));
        if was_missed {
            for other in unresolved.neighbours(lane, lookups, |it| mx.known(it).is_none()) {
                self.look_up(&other, None, under_way);
            }
        }
    }

    /// Starts what can be started; answers the pause until the next round.
    async fn fill(&self, under_way: &mut UnderWay) -> Duration {
        let busy = under_way.attempts.len();
        let room = self.concurrent.saturating_sub(busy);
        // One query serves many attempts, so a round waits for several to end.
        // The more attempts are under way, the fewer slots each destination has.
        let shortened = [1, 1, 2, 8].get(busy * 4 / self.concurrent.max(1)).copied().unwrap_or(8);
        self.admission.destinations.shorten(shortened);
        self.admission.has_no_free_attempt.store(room == 0, Ordering::Relaxed);
        if room == 0 || (busy > 0 && room < MIN_FREE_ATTEMPTS.min(self.concurrent / 8)) {
            return IDLE_PAUSE;
        }
        match self.round(room, under_way).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "delivery queue cannot be read; retrying");
                DATABASE_RETRY
            }
        }
    }

    async fn round(&self, room: usize, under_way: &mut UnderWay) -> Result<Duration, StoreError> {
        let now = self.clock.now();
        let held = self.membership.held();
        let mut round = Round { held: Arc::clone(&held), ..Round::default() };
        let mx = &self.admission.mx;
        for (lane, takes_long) in under_way.lookups.all() {
            if takes_long && mx.usable(lane).is_some() {
                round.skips.renewed.insert(lane.clone());
            }
        }
        let most = room.min(MAX_LEASES);
        // Each kind of lane waits behind nothing of the other.
        for kind in [LaneKind::Sandbox, LaneKind::Domains] {
            self.choose(kind, most, now, &mut round, under_way).await?;
        }
        if !round.empty.is_empty() {
            self.store.correct_lanes(&round.empty).await?;
        }
        let Round { skips, chosen, backed_off, .. } = round;
        let has_backed_off = !backed_off.is_empty();
        if has_backed_off {
            self.store.back_off(&backed_off, after_last_reply, now).await?;
            let waited_for = backed_off.iter().map(|it| &it.waits_for).collect();
            requeue_recovered(waited_for, &self.admission, &mut under_way.unresolved);
        }
        if !chosen.is_empty() && !self.lease_and_begin(chosen, &held, now, under_way).await? {
            // The membership of this node learns of a lost share in a moment.
            return Ok(WITHOUT_SHARES_PAUSE);
        }
        if has_backed_off { Ok(Duration::ZERO) } else { self.pause(now, &skips, under_way).await }
    }

    /// Leases the chosen messages and begins their attempts. Answers false where this node got no lease, as after the loss of
    /// a share.
    async fn lease_and_begin(
        &self,
        mut chosen: HashMap<MessageId, Result<Plan, Report>>,
        held: &Held,
        now: Timestamp,
        under_way: &mut UnderWay,
    ) -> Result<bool, StoreError> {
        let ids: Vec<MessageId> = chosen.keys().copied().collect();
        let decide = |leases, facts: &LeaseFacts| at_lease::decide(leases, facts, now);
        let (asked_at, by) = (Instant::now(), Lessee { owner: &self.owner, shares: held.shares() });
        let leases = self.store.lease_decided(by, &ids, now, now.after(LEASE), decide).await?;
        if leases.is_empty() && held.shares().is_some() {
            return Ok(false);
        }
        self.attempts.signer.refresh().await;
        for lease in leases {
            if let Some(chosen) = chosen.remove(&lease.message_id) {
                under_way.attempts.insert(lease.message_id);
                self.begin((lease, asked_at), chosen, under_way.ended.clone());
            }
        }
        Ok(true)
    }

    /// The pause after a round that has looked at all messages that it may start. A message that is accepted meanwhile wakes
    /// the worker; the pause ends when the next scheduled message is due.
    async fn pause(
        &self,
        now: Timestamp,
        skips: &RoundSkips,
        under_way: &UnderWay,
    ) -> Result<Duration, StoreError> {
        let lanes = [&under_way.sandbox, &under_way.domains];
        if lanes.iter().any(|it| it.has_more() && !self.is_blocked(it, skips)) {
            return Ok(Duration::ZERO);
        }
        if lanes.iter().any(|it| it.is_waiting()) {
            return Ok(skips.until.unwrap_or(CROWDED_PAUSE).clamp(MIN_PAUSE, CROWDED_PAUSE));
        }
        let idle = match *self.membership.held() {
            Held::Everything => IDLE_PAUSE,
            Held::Shares(_) => SHARED_IDLE_PAUSE,
        };
        let due = self.store.next_due(now).await?;
        let until_due = due.map_or(idle, |due| self.clock.now().until(due));
        let until_sweep = lanes.iter().map(|it| it.until_sweep()).min().unwrap_or(idle);
        Ok(until_due.min(until_sweep).clamp(MIN_PAUSE, idle))
    }

    /// Whether all lanes share one route, and it is full: then none behind the first has a slot.
    fn is_blocked(&self, lanes: &Lanes, skips: &RoundSkips) -> bool {
        let sole = match lanes.kind() {
            LaneKind::Sandbox => Some(Bottleneck::Route(RouteKey::Sandbox)),
            LaneKind::Domains => self.admission.sole_bottleneck(),
        };
        sole.is_some_and(|it| {
            skips.full.contains(&it)
                || (lanes.is_blocked_by(&it) && self.admission.free_slots(&it) == 0)
        })
    }

    /// Admits due messages, lane by lane.
    async fn choose(
        &self,
        kind: LaneKind,
        most: usize,
        now: Timestamp,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> Result<(), StoreError> {
        if round.chosen.len() >= most || self.is_blocked(under_way.lanes(kind), &round.skips) {
            return Ok(());
        }
        let (lookups, renewed) = (&under_way.lookups, &round.skips.renewed);
        let room = |bottleneck: &Bottleneck| match bottleneck {
            Bottleneck::Lookup(domain) if lookups.has(domain) && !renewed.contains(domain) => 0,
            Bottleneck::Route(_)
            | Bottleneck::Destination(_)
            | Bottleneck::Lookup(_)
            | Bottleneck::ThisLane => self.admission.free_slots(bottleneck),
        };
        let lanes = match kind {
            LaneKind::Sandbox => &mut under_way.sandbox,
            LaneKind::Domains => &mut under_way.domains,
        };
        let mut turns = LaneTurns { batch: lanes.take_unblocked(room), ..LaneTurns::default() };
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
        turns: &mut LaneTurns,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> Result<(), StoreError> {
        let most_backed_off = round.backed_off.len() + MAX_BACKED_OFF;
        for turn in 0..MAX_READS {
            let lanes = under_way.lanes(kind);
            // A second read up to the same time would find the same lanes.
            if turn == 0 || lanes.has_unread() {
                lanes.read(&self.store, now, &round.held).await?;
            }
            let further = lanes.batch(BATCH.saturating_sub(turns.batch.len()));
            turns.batch.extend(further);
            if turns.batch.is_empty() {
                if lanes.has_more() {
                    continue;
                }
                break;
            }
            let each = (most - round.chosen.len()).div_ceil(turns.batch.len()).max(MIN_PER_LANE);
            let found =
                self.store.due_in(&turns.batch, now, u32::try_from(each).unwrap_or(64)).await?;
            let mut looked_at = mem::take(&mut turns.batch).into_iter().zip(found);
            while round.chosen.len() < most
                && let Some((lane, due)) = looked_at.next()
            {
                match self.look_at(&lane, due, each, most, round, under_way) {
                    LaneOutcome::Exhausted => turns.exhausted.push(lane.lane),
                    LaneOutcome::More => turns.kept.push(LaneStart { after: None, ..lane }),
                    LaneOutcome::Blocked(bottleneck, lane) => {
                        under_way.lanes(kind).block(bottleneck, lane);
                    }
                }
            }
            let rest: Vec<LaneStart> = looked_at.map(|(lane, _)| lane).collect();
            under_way.lanes(kind).put_back(rest.into_iter());
            if round.chosen.len() >= most
                || round.backed_off.len() >= most_backed_off
                || self.is_blocked(under_way.lanes(kind), &round.skips)
            {
                break;
            }
        }
        Ok(())
    }

    /// Admits the first messages of a lane.
    fn look_at(
        &self,
        lane: &LaneStart,
        due: Vec<Due>,
        each: usize,
        most: usize,
        round: &mut Round,
        under_way: &mut UnderWay,
    ) -> LaneOutcome {
        if due.is_empty() && lane.after.is_none() {
            round.empty.push(lane.lane.clone());
            return LaneOutcome::Exhausted;
        }
        let (is_all, last) = (due.len() < each, due.last().map(Due::position));
        let is_held_by =
            |it| LaneOutcome::Blocked(it, LaneStart { lane: lane.lane.clone(), after: None });
        let (mut has_some, mut is_crowded) = (false, lane.after.is_some() && due.is_empty());
        for due in due {
            if round.chosen.len() >= most {
                return LaneOutcome::More;
            }
            // The lease may have expired before its attempt ended.
            if under_way.attempts.contains(&due.message_id) {
                continue;
            }
            let mut found = self.admission.admit(&due, &mut round.skips);
            if matches!(found, Admission::Wait(Reason::Lookup, _)) {
                self.look_up(&due.lane, Some(due.account_id), under_way);
                if under_way.lookups.has(&due.lane) {
                    return is_held_by(Bottleneck::Lookup(due.lane));
                }
                // The account has used up its lookups.
                round.skips.renewed.insert(due.lane.clone());
                found = self.admission.admit(&due, &mut round.skips);
            }
            match found {
                Admission::Start(plan) => {
                    round.chosen.insert(due.message_id, Ok(plan));
                    has_some = true;
                }
                Admission::Over(report) => {
                    round.chosen.insert(due.message_id, Err(report));
                    has_some = true;
                }
                Admission::Wait(Reason::BackOff(backoff), _) => {
                    match self.schedule.back_off(&due, &backoff, self.clock.now()) {
                        WhileBackedOff::Wait(it) => round.backed_off.push(it),
                        WhileBackedOff::GiveUp(report) => {
                            round.chosen.insert(due.message_id, Err(report));
                            has_some = true;
                        }
                    }
                }
                // No lookup is under way: the account has used up its lookups.
                Admission::Wait(Reason::Lookup, _) => return is_held_by(Bottleneck::ThisLane),
                Admission::Wait(_, Some(bottleneck)) => return is_held_by(bottleneck),
                // Another message of the lane may be smaller.
                Admission::Wait(_, None) => is_crowded = true,
            }
        }
        match (is_crowded, is_all) {
            (false, true) => LaneOutcome::Exhausted,
            (false, false) => LaneOutcome::More,
            (true, _) if has_some => is_held_by(Bottleneck::ThisLane),
            (true, true) => is_held_by(Bottleneck::ThisLane),
            // The next round continues behind these.
            (true, false) => LaneOutcome::Blocked(
                Bottleneck::ThisLane,
                LaneStart { lane: lane.lane.clone(), after: last },
            ),
        }
    }

    async fn look_up_again(&self, under_way: &mut UnderWay) {
        let UnderWay { unresolved, lookups, .. } = under_way;
        for lane in unresolved.due(&self.store, lookups, self.clock.now()).await {
            self.look_up(&lane, None, under_way);
        }
    }

    fn look_up(&self, lane: &str, account: Option<AccountId>, under_way: &mut UnderWay) {
        if !under_way.lookups.begin(lane, account) {
            return;
        }
        let (mx, tell) = (Arc::clone(&self.admission.mx), under_way.tell.clone());
        let lane = lane.to_owned();
        self.spawner.start(Box::pin(async move {
            // Also after a panic the lane must be read again.
            let looked_up = AssertUnwindSafe(mx.look_up(&lane)).catch_unwind().await;
            if looked_up.is_err() {
                tracing::error!(domain = lane, "MX lookup panicked");
            }
            // The worker may have ended.
            drop(tell.send(Event::LookupDone(lane)).await);
        }));
    }

    fn begin(
        &self,
        (lease, leased): (Lease, Instant),
        chosen: Result<Plan, Report>,
        ended: mpsc::Sender<Settlement>,
    ) {
        let (attempts, schedule) = (Arc::clone(&self.attempts), Arc::clone(&self.schedule));
        let clock = self.clock.clone();
        self.spawner.start(Box::pin(async move {
            let (start, started_at) = (Instant::now(), clock.now());
            let report = match chosen {
                Ok(plan) => attempts.make(&lease, leased, plan).await,
                Err(report) => report,
            };
            metrics::histogram!("waxwing_step_seconds", "step" => "deliver")
                .record(start.elapsed());
            let times = Times::since(start);
            let settlement = schedule.settle(&lease, report, started_at, clock.now());
            let state = settlement.verdict.state().as_str();
            metrics::counter!("waxwing_deliveries_total", "state" => state).increment(1);
            let attempt = &settlement.attempt;
            // The log names no recipient, and a server's reply may: only a reason of this server's own is logged.
            let reason = attempt.ending.code().is_none().then_some(attempt.reply.as_str());
            tracing::info!(
                message_id = %lease.message_id,
                account = %lease.account_id,
                attempt = lease.attempt,
                state,
                route = attempt.route,
                domain = lease.recipient.domain().map(tracing::field::display),
                host = attempt.host.as_ref().map(|it| &it.name),
                code = attempt.ending.code(),
                enhanced = attempt.ending.enhanced().map(tracing::field::display),
                reason,
                next_attempt = settlement.verdict.next_attempt().map(tracing::field::display),
                "delivery attempted"
            );
            let attempted = Attempted {
                number: lease.attempt,
                route: &attempt.route,
                host: attempt.host.as_ref().map(|it| it.name.as_str()),
                state,
                code: attempt.ending.code(),
            };
            trace::attempt(lease.message_id, times, &attempted);
            drop(ended.send(settlement).await);
        }));
    }

    async fn release_ended_leases(&self, under_way: &UnderWay) {
        let now = self.clock.now();
        let held = self.membership.held();
        let of = Lessee { owner: &self.owner, shares: held.shares() };
        match self.store.recover_ended_leases(of, &under_way.attempts, now, interrupted).await {
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

    async fn mend_due_times_after_clock_change(&self) {
        // One of several clocks says nothing of the times that the other nodes have written.
        if self.membership.nodes() > 1 {
            return;
        }
        match self.store.mend_due_times(self.clock.now()).await {
            Ok(0) => {}
            Ok(mended) => tracing::warn!(
                mended,
                "the clock was set back: the due times of waiting messages were moved earlier"
            ),
            Err(error) => {
                tracing::error!(%error, "due times cannot be corrected after the clock was set back");
            }
        }
    }
}
