//! Chooses the lanes of the queue that the next round reads. Newly due lanes come first, then those
//! with more messages than one round took, in turn. A blocked lane stands behind its bottleneck and
//! comes back when that has a free slot: so a round reads few lanes, however many are blocked.
//!
//! This is a bounded cache of the store's lanes. A sweep over all due lanes every few seconds finds
//! what was forgotten, or changed by a command.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::clock::Timestamp;
use crate::delivery::shaping::round_skips::Bottleneck;
use crate::id::AccountId;
use crate::nodes::Held;
use crate::store::records::{DueLane, Lane, LaneKind, LaneStart};
use crate::store::{Store, StoreError};

/// Lanes of one read, and the number below which more are read.
const PAGE: u32 = 256;
const READ_BELOW: usize = 64;
/// Lanes whose messages are read together, and how many of them may be newly due where others wait
/// as well.
pub const BATCH: usize = 32;
const MAX_NEWLY_DUE: usize = 16;
/// Lanes of one bottleneck that a round tries again, at most.
const MAX_RETRIED: usize = 8;
/// Lanes that are remembered, in all and behind one bottleneck.
const MAX_KNOWN: usize = 50_000;
const MAX_HELD: usize = 5_000;
/// A message is visible no later than this after the moment at which it is due: its transaction is short.
const COMMIT_DELAY: Duration = Duration::from_secs(2);
/// From the end of a sweep to the next one, at least; and for each lane that the last one saw.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
const SWEEP_PER_LANE: Duration = Duration::from_micros(100);

/// The lanes of one kind.
#[derive(Debug)]
pub struct Lanes {
    kind: LaneKind,
    newly_due: VecDeque<LaneStart>,
    ready: VecDeque<LaneStart>,
    blocked: BTreeMap<Bottleneck, VecDeque<LaneStart>>,
    known: HashSet<(String, AccountId)>,
    /// Up to when newly due lanes were read.
    read_until: Option<Timestamp>,
    /// Where that goes on, if there were more than a page.
    read_after: Option<DueLane>,
    sweep: Sweep,
}

#[derive(Debug)]
enum Sweep {
    Next(Instant),
    UnderWay { after: Option<DueLane>, seen: u32 },
}

impl Lanes {
    /// Starts empty; the first round begins a sweep.
    pub fn new(kind: LaneKind) -> Self {
        Self {
            kind,
            newly_due: VecDeque::new(),
            ready: VecDeque::new(),
            blocked: BTreeMap::new(),
            known: HashSet::new(),
            read_until: None,
            read_after: None,
            sweep: Sweep::UnderWay { after: None, seen: 0 },
        }
    }

    pub fn kind(&self) -> LaneKind {
        self.kind
    }

    /// Reads lanes that became due, and some of the sweep, where few are left to look at. Those of other nodes are
    /// passed over.
    pub async fn read(
        &mut self,
        store: &Store,
        now: Timestamp,
        held: &Held,
    ) -> Result<(), StoreError> {
        if self.newly_due.len() < READ_BELOW {
            self.read_newly_due(store, now, held).await?;
        }
        if let Sweep::Next(at) = self.sweep
            && at <= Instant::now()
        {
            self.sweep = Sweep::UnderWay { after: None, seen: 0 };
        }
        if self.ready.len() < READ_BELOW && self.known.len() < MAX_KNOWN {
            self.read_sweep(store, now, held).await?;
        }
        Ok(())
    }

    async fn read_newly_due(
        &mut self,
        store: &Store,
        now: Timestamp,
        held: &Held,
    ) -> Result<(), StoreError> {
        // No lane has an account that comes before all of them.
        let lane = Lane { name: String::new(), account_id: AccountId::first_of(BEFORE_ALL) };
        let since = self.read_until.unwrap_or(now).min(now).before(COMMIT_DELAY);
        let start = self.read_after.take().unwrap_or(DueLane { due_at: since, lane });
        let page = store.due_lanes(self.kind, now, Some(&start), PAGE).await?;
        self.read_after = last_of_full(&page);
        if self.read_after.is_none() {
            self.read_until = Some(now);
        }
        for due in page {
            if self.known.len() < MAX_KNOWN
                && is_of(held, &due.lane)
                && self.known.insert(key(&due.lane))
            {
                self.newly_due.push_back(LaneStart { lane: due.lane, after: None });
            }
        }
        Ok(())
    }

    async fn read_sweep(
        &mut self,
        store: &Store,
        now: Timestamp,
        held: &Held,
    ) -> Result<(), StoreError> {
        let Sweep::UnderWay { after, seen } = &mut self.sweep else { return Ok(()) };
        let page = store.due_lanes(self.kind, now, after.as_ref(), PAGE).await?;
        *seen = seen.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
        if let Some(last) = last_of_full(&page) {
            *after = Some(last);
        } else {
            let pause = SWEEP_EVERY.max(SWEEP_PER_LANE * *seen);
            self.sweep = Sweep::Next(Instant::now() + pause);
        }
        for due in page {
            if is_of(held, &due.lane) && self.known.insert(key(&due.lane)) {
                self.ready.push_back(LaneStart { lane: due.lane, after: None });
            }
        }
        Ok(())
    }

    /// Takes the next lanes out. Each must be given back by [`Self::keep`], [`Self::block`] or
    /// [`Self::forget`].
    pub fn batch(&mut self, most: usize) -> Vec<LaneStart> {
        let mut batch = Vec::new();
        let newly_due = self.newly_due.len().min(MAX_NEWLY_DUE).min(most);
        batch.extend(self.newly_due.drain(..newly_due));
        let ready = self.ready.len().min(most - batch.len());
        batch.extend(self.ready.drain(..ready));
        let rest = self.newly_due.len().min(most - batch.len());
        batch.extend(self.newly_due.drain(..rest));
        batch
    }

    /// Takes blocked lanes out, as many as there are free slots by `room`.
    pub fn take_unblocked(&mut self, room: impl Fn(&Bottleneck) -> usize) -> Vec<LaneStart> {
        let mut batch = Vec::new();
        for (bottleneck, lanes) in &mut self.blocked {
            let wanted =
                room(bottleneck).min(MAX_RETRIED).min(lanes.len()).min(BATCH - batch.len());
            batch.extend(lanes.drain(..wanted));
        }
        self.blocked.retain(|_, lanes| !lanes.is_empty());
        batch
    }

    /// Gives back a lane that may have more due messages.
    pub fn keep(&mut self, lane: LaneStart) {
        self.ready.push_back(lane);
    }

    /// Gives back lanes that were not read; they are the next ones.
    pub fn put_back(&mut self, lanes: impl DoubleEndedIterator<Item = LaneStart>) {
        for lane in lanes.rev() {
            self.ready.push_front(lane);
        }
    }

    /// Puts a lane behind its bottleneck.
    pub fn block(&mut self, bottleneck: Bottleneck, lane: LaneStart) {
        let lanes = self.blocked.entry(bottleneck).or_default();
        if lanes.len() < MAX_HELD {
            lanes.push_back(lane);
        } else {
            self.forget(&lane.lane);
        }
    }

    /// Forgets a lane without further due messages.
    pub fn forget(&mut self, lane: &Lane) {
        self.known.remove(&key(lane));
    }

    /// Forgets the lanes that are another node's by now, and looks for those that have become this one's.
    pub fn follow(&mut self, held: &Held) {
        let is_ours = |it: &LaneStart| is_of(held, &it.lane);
        self.newly_due.retain(is_ours);
        self.ready.retain(is_ours);
        self.blocked.values_mut().for_each(|lanes| lanes.retain(is_ours));
        self.blocked.retain(|_, lanes| !lanes.is_empty());
        let all = [&self.newly_due, &self.ready].into_iter().chain(self.blocked.values());
        self.known = all.flatten().map(|it| key(&it.lane)).collect();
        self.sweep_now();
    }

    pub fn is_blocked_by(&self, bottleneck: &Bottleneck) -> bool {
        self.blocked.contains_key(bottleneck)
    }

    /// Whether due messages wait for a slot.
    pub fn is_waiting(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether a read has stopped before the last due lane, or a sweep is still to be read.
    pub fn has_unread(&self) -> bool {
        matches!(self.sweep, Sweep::UnderWay { .. }) || self.read_after.is_some()
    }

    /// Whether there are further lanes to look at now.
    pub fn has_more(&self) -> bool {
        self.has_unread() || !self.newly_due.is_empty() || !self.ready.is_empty()
    }

    /// How long until lanes are swept again.
    pub fn until_sweep(&self) -> Duration {
        match self.sweep {
            Sweep::Next(at) => at.saturating_duration_since(Instant::now()),
            Sweep::UnderWay { .. } => Duration::ZERO,
        }
    }

    /// Starts a sweep, because due times were changed.
    pub fn sweep_now(&mut self) {
        self.sweep = Sweep::UnderWay { after: None, seen: 0 };
    }
}

/// An identifier of this time sorts before that of every account.
const BEFORE_ALL: Timestamp = Timestamp::from_millis(0);

fn key(lane: &Lane) -> (String, AccountId) {
    (lane.name.clone(), lane.account_id)
}

fn is_of(held: &Held, lane: &Lane) -> bool {
    held.has(|| lane.share())
}

/// The last of a page behind which there may be more.
fn last_of_full(page: &[DueLane]) -> Option<DueLane> {
    let is_full = page.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
    page.last().filter(|_| is_full).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::Membership;

    fn start(domain: &str) -> LaneStart {
        let account_id = AccountId::first_of(BEFORE_ALL);
        LaneStart { lane: Lane { name: domain.to_owned(), account_id }, after: None }
    }

    #[test]
    fn lanes_of_a_share_that_is_lost_are_forgotten() {
        let (kept, lost) = (start("example.com"), start("example.org"));
        assert_ne!(kept.lane.share(), lost.lane.share(), "or the test is about nothing");
        let mut lanes = Lanes::new(LaneKind::Domains);
        lanes.sweep = Sweep::Next(Instant::now() + SWEEP_EVERY);
        for lane in [&kept, &lost] {
            lanes.known.insert(key(&lane.lane));
            lanes.keep(lane.clone());
        }
        lanes.known.insert(key(&start("blocked.example").lane));
        lanes.block(Bottleneck::ThisLane, start("blocked.example"));

        let node = Membership::joining();
        node.renewed(&[(kept.lane.share(), 1)], 2, Instant::now() + SWEEP_EVERY);
        lanes.follow(&node.held());
        assert!(!lanes.is_blocked_by(&Bottleneck::ThisLane), "it is of a third share");
        assert_eq!(lanes.batch(BATCH), std::slice::from_ref(&kept));
        assert!(!lanes.known.contains(&key(&lost.lane)), "it is read again if it comes back");
        assert!(lanes.has_more(), "a sweep finds the lanes of shares that have come");
        lanes.follow(&Held::Everything);
        lanes.keep(lost.clone());
        assert_eq!(lanes.batch(BATCH), [lost]);
    }
}
