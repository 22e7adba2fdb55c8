//! The examination of a slot's files that is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{AbortHandle, AbortRegistration};
use tokio::sync::Notify;

use crate::plugin::slots::files::Stamp;

/// Its drop ends it, with the child that compiles for it.
#[derive(Debug)]
pub struct Examination {
    running: AbortHandle,
    settling: Arc<Settling>,
    approval: Approval,
}

/// Why files are examined.
#[derive(Debug)]
pub enum Cause {
    /// They look otherwise than before; none where they are gone.
    Files(Option<Stamp>),
    /// The operator activates what they hold.
    Order(Approval),
}

/// Who lets the component become live that is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The rule of its slot, if nothing speaks against it.
    ByRule,
    /// The operator, whatever would change and although it may be in quarantine.
    ByOperator,
}

/// What the work needs to know of its examination.
#[derive(Debug)]
pub struct Begun {
    /// Its number among all work of the slot.
    pub number: u64,
    /// The number of the newest work; older work sees that it is superseded.
    pub newest: Arc<AtomicU64>,
    pub settling: Arc<Settling>,
    pub approval: Approval,
    /// Ends the work with the examination.
    pub ends_with: AbortRegistration,
}

/// An examination that waits for its files to stand still is restarted by changes meanwhile; one that
/// has read them is not, and a change begins another.
#[derive(Debug)]
pub struct Settling {
    changes: AtomicU64,
    changed: Notify,
}

impl Examination {
    /// Begins work of that number.
    pub fn begin(number: u64, newest: &Arc<AtomicU64>, approval: Approval) -> (Self, Begun) {
        let (running, ends_with) = AbortHandle::new_pair();
        let (newest, settling) = (Arc::clone(newest), Arc::new(Settling::begun()));
        let examination = Self { running, settling: Arc::clone(&settling), approval };
        (examination, Begun { number, newest, settling, approval, ends_with })
    }

    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// The operator's word was for the files that they saw.
    pub fn forget_approval(&mut self) {
        self.approval = Approval::ByRule;
    }

    /// Says that the files changed; answers whether it still waits for them.
    pub fn restart_settling(&self) -> bool {
        self.settling.restart_settling()
    }
}

impl Drop for Examination {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Settling {
    const OVER: u64 = u64::MAX;

    fn begun() -> Self {
        Self { changes: AtomicU64::new(0), changed: Notify::new() }
    }

    fn restart_settling(&self) -> bool {
        let one_more = |changes| (changes != Self::OVER).then(|| changes + 1);
        let is_waiting =
            self.changes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_ok();
        self.changed.notify_one();
        is_waiting
    }

    /// The changes so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Waits for the next change.
    pub async fn change(&self) {
        self.changed.notified().await;
    }

    /// Ends it, if there was no change since there were so many.
    #[must_use]
    pub fn ends_at(&self, changes: u64) -> bool {
        let order = Ordering::SeqCst;
        self.changes.compare_exchange(changes, Self::OVER, order, order).is_ok()
    }
}
