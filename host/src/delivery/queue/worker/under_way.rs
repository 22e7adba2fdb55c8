//! What the worker has begun and not ended, and what its tasks report to it.

use std::collections::HashSet;

use tokio::sync::{mpsc, watch};

use super::super::lanes::Lanes;
use crate::delivery::shaping::lookup_slots::LookupSlots;
use crate::delivery::shaping::unresolved_domains::UnresolvedDomains;
use crate::id::MessageId;
use crate::nodes::Membership;
use crate::store::records::{LaneKind, Settlement};

/// What the worker's tasks report to it.
pub enum Event {
    /// These outcomes are stored.
    Settled(Vec<Settlement>),
    LookupDone(String),
}

/// Attempts and lookups that have begun, and the lanes that they came from.
pub struct UnderWay {
    pub tell: mpsc::Sender<Event>,
    pub ended: mpsc::Sender<Settlement>,
    pub attempts: HashSet<MessageId>,
    pub lookups: LookupSlots,
    pub unresolved: UnresolvedDomains,
    pub sandbox: Lanes,
    pub domains: Lanes,
    /// Told when this node's shares change.
    changes: watch::Receiver<u64>,
}

impl UnderWay {
    pub fn new(
        tell: mpsc::Sender<Event>,
        ended: mpsc::Sender<Settlement>,
        changes: watch::Receiver<u64>,
    ) -> Self {
        Self {
            tell,
            ended,
            attempts: HashSet::new(),
            lookups: LookupSlots::default(),
            unresolved: UnresolvedDomains::default(),
            sandbox: Lanes::new(LaneKind::Sandbox),
            domains: Lanes::new(LaneKind::Domains),
            changes,
        }
    }

    /// Keeps to the lanes of this node where its shares have changed.
    pub fn follow(&mut self, membership: &Membership) {
        if self.changes.has_changed().unwrap_or_default() {
            self.changes.mark_unchanged();
            let held = membership.held();
            self.sandbox.follow(&held);
            self.domains.follow(&held);
        }
    }

    pub fn lanes(&mut self, kind: LaneKind) -> &mut Lanes {
        match kind {
            LaneKind::Sandbox => &mut self.sandbox,
            LaneKind::Domains => &mut self.domains,
        }
    }
}
