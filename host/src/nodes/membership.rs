//! What this node may work for, as its last renewal said.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::share::{Epoch, Share};

/// Shared by all that begin work. By default the node is the only one.
#[derive(Debug, Default)]
pub struct Membership {
    held: ArcSwap<Held>,
    /// How often there was a change: of shares, of the number of nodes, or from too late to in time.
    changes: watch::Sender<u64>,
}

/// What a node has.
#[derive(Debug, Default)]
pub enum Held {
    /// It is the only one that there can be.
    #[default]
    Everything,
    Shares(HeldShares),
}

/// The shares of one node among others.
#[derive(Debug)]
pub struct HeldShares {
    shares: BTreeMap<Share, Epoch>,
    nodes: u32,
    /// By the node's own clock, and no later than the database counts on it.
    until: Instant,
    /// Since when the node has been in time without a break.
    since: Instant,
}

/// One node's part of a limit that so many nodes keep to together; at least 1, also where the limit is below the number
/// of nodes.
#[must_use]
pub fn part(limit: NonZeroU32, nodes: u32) -> NonZeroU32 {
    NonZeroU32::new(limit.get() / nodes.max(1)).unwrap_or(NonZeroU32::MIN)
}

impl Held {
    /// Whether the node may begin anything now.
    #[must_use]
    pub fn is_in_time(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Shares(it) => Instant::now() < it.until,
        }
    }

    /// Whether the node may begin now what it took at that moment. After a break others may have taken it since.
    #[must_use]
    pub fn is_in_time_since(&self, moment: Instant) -> bool {
        match self {
            Self::Everything => true,
            Self::Shares(it) => self.is_in_time() && it.since <= moment,
        }
    }

    /// Whether work of that share is the node's. The share is computed only where there may be other nodes.
    #[must_use]
    pub fn has(&self, share: impl FnOnce() -> Share) -> bool {
        match self {
            Self::Everything => true,
            Self::Shares(it) => it.shares.contains_key(&share()),
        }
    }

    /// The node's shares, where there may be others.
    #[must_use]
    pub fn shares(&self) -> Option<&HeldShares> {
        match self {
            Self::Everything => None,
            Self::Shares(it) => Some(it),
        }
    }
}

impl HeldShares {
    /// In which epoch a share is the node's; none where it is not.
    #[must_use]
    pub fn epoch(&self, share: Share) -> Option<Epoch> {
        self.shares.get(&share).copied()
    }
}

impl Membership {
    /// A node that joins others. It holds nothing before [`Self::renewed`].
    #[must_use]
    pub fn joining() -> Self {
        let now = Instant::now();
        let nothing = HeldShares { shares: BTreeMap::new(), nodes: 0, until: now, since: now };
        let held = ArcSwap::from_pointee(Held::Shares(nothing));
        Self { held, changes: watch::Sender::default() }
    }

    #[must_use]
    pub fn held(&self) -> Arc<Held> {
        self.held.load_full()
    }

    /// Nodes that share the work, at least 1.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.held().shares().map_or(1, |it| it.nodes.max(1))
    }

    /// Whether the node may begin anything now.
    #[must_use]
    pub fn is_in_time(&self) -> bool {
        self.held.load().is_in_time()
    }

    /// Whether the node may begin work of that share now.
    #[must_use]
    pub fn holds(&self, share: Share) -> bool {
        let held = self.held.load();
        held.has(|| share) && held.is_in_time()
    }

    /// How often there was a change; whoever waits for the next one subscribes before it looks.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notes which shares the node has, among how many nodes, and until when. Answers whether that is a change.
    pub fn renewed(&self, shares: &[(Share, Epoch)], nodes: u32, until: Instant) -> bool {
        let before = self.held();
        let Some(known) = before.shares() else { return false };
        let now: BTreeMap<Share, Epoch> = shares.iter().copied().collect();
        let is_back = !before.is_in_time() && Instant::now() < until;
        let since = if is_back { Instant::now() } else { known.since };
        let is_changed = now != known.shares || nodes != known.nodes || is_back;
        self.held.store(Arc::new(Held::Shares(HeldShares { shares: now, nodes, until, since })));
        if is_changed {
            self.changes.send_modify(|it| *it += 1);
        }
        is_changed
    }

    /// Runs work for as long as the node holds a share, and again when it gets the share back, until `stop`. What
    /// `start` makes ends when its own token says so.
    pub async fn while_held<F: Future<Output = ()>>(
        &self,
        share: Share,
        stop: &CancellationToken,
        start: impl Fn(CancellationToken) -> F,
    ) {
        let mut changes = self.changes();
        while !stop.is_cancelled() {
            if !self.holds(share) {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = changes.changed() => {}
                }
                continue;
            }
            let own = stop.child_token();
            let mut work = pin!(start(own.clone()));
            tokio::select! {
                () = &mut work => return,
                () = self.lost(share, &mut changes) => {}
            }
            own.cancel();
            work.await;
        }
    }

    async fn lost(&self, share: Share, changes: &mut watch::Receiver<u64>) {
        while self.holds(share) {
            let held = self.held();
            let Some(shares) = held.shares() else { return pending().await };
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(shares.until.into()) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn share(number: i64) -> Share {
        Share::from_number(number).expect("a share")
    }

    fn later(by: Duration) -> Instant {
        Instant::now().checked_add(by).expect("a moment")
    }

    #[test]
    fn a_node_that_is_alone_holds_everything() {
        let alone = Membership::default();
        assert!(alone.is_in_time() && Share::all().all(|it| alone.holds(it)));
        assert_eq!(alone.nodes(), 1);
        assert!(!alone.renewed(&[], 7, Instant::now()), "nothing changes that");
    }

    #[test]
    fn after_its_time_a_node_begins_nothing() {
        let node = Membership::joining();
        assert!(!node.is_in_time() && !node.holds(share(1)));
        assert!(node.renewed(&[(share(1), 1)], 2, later(HOUR)));
        assert!(node.holds(share(1)) && !node.holds(share(2)));
        assert_eq!(node.nodes(), 2);
        assert!(!node.renewed(&[(share(1), 1)], 2, Instant::now()), "the same shares");
        assert!(!node.is_in_time() && !node.holds(share(1)), "its time is over");
        assert!(node.renewed(&[(share(1), 1)], 2, later(HOUR)), "it is back in time");
    }

    #[test]
    fn what_was_taken_before_a_break_is_not_begun_after_it() {
        let node = Membership::joining();
        node.renewed(&[(share(1), 1)], 2, later(HOUR));
        let taken = Instant::now();
        node.renewed(&[(share(1), 1)], 2, later(HOUR));
        assert!(node.held().is_in_time_since(taken), "renewed in time");
        node.renewed(&[(share(1), 1)], 2, Instant::now());
        assert!(!node.held().is_in_time_since(taken), "its time is over");
        node.renewed(&[(share(1), 3)], 2, later(HOUR));
        assert!(node.is_in_time() && !node.held().is_in_time_since(taken));
        assert!(node.held().is_in_time_since(Instant::now()), "what it takes from now on");
        assert!(Membership::default().held().is_in_time_since(taken), "no other node can take it");
    }

    #[tokio::test]
    async fn work_of_a_share_runs_only_while_the_node_has_the_share() {
        let (node, stop) = (Arc::new(Membership::joining()), CancellationToken::new());
        let (begun, running) = (Arc::new(AtomicU32::new(0)), watch::Sender::new(false));
        let mut seen = running.subscribe();
        let work = {
            let (node, stop, begun) = (Arc::clone(&node), stop.clone(), Arc::clone(&begun));
            async move {
                let start = |stop: CancellationToken| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    running.send_modify(|it| *it = true);
                    let running = &running;
                    async move {
                        stop.cancelled().await;
                        running.send_modify(|it| *it = false);
                    }
                };
                node.while_held(share(1), &stop, start).await;
            }
        };
        let work = tokio::spawn(work);
        for number in 1..=3 {
            node.renewed(&[(share(1), number)], 1, later(HOUR));
            seen.wait_for(|it| *it).await.expect("it begins");
            node.renewed(&[], 1, later(HOUR));
            seen.wait_for(|it| !*it).await.expect("it ends");
        }
        stop.cancel();
        work.await.expect("it ends");
        assert_eq!(begun.load(Ordering::Relaxed), 3);
    }
}
