//! Requeues messages when their destination recovers: a few at first, more with each message that
//! it accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Mutex;

use crate::delivery::lock::lock;
use crate::id::MessageId;
use crate::message::waits_for::WaitsFor;

/// Messages requeued after the first success.
pub const FIRST_REQUEUE: u32 = 32;
/// Messages requeued at once, at most.
pub const MAX_REQUEUE: u32 = 1_000;

/// The ramp-up of a recovered destination.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Messages of the last requeue.
    requeued: u32,
    /// Messages accepted since.
    accepted: u32,
}

/// Collects requests from attempts until the worker requeues in its next round.
#[derive(Debug)]
pub struct Requeue(Mutex<RequeueRequests>);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequeueRequests {
    /// A cursor: one message is requeued for each destination whose name sorts after it, so that each is probed.
    pub one_per_destination_after: Option<String>,
    /// A cursor: all waiting messages with a later identifier are requeued, because their route may have changed.
    pub all_after: Option<MessageId>,
    /// The most messages to requeue, by what they wait for.
    pub most: BTreeMap<WaitsFor, u32>,
    /// One message is requeued as a probe for each of these, if enough messages wait for it.
    pub probes: BTreeSet<WaitsFor>,
}

impl Recovery {
    /// Counts an accepted message, and answers how many waiting ones may be requeued now.
    pub fn record_success(&mut self) -> Option<u32> {
        self.accepted = self.accepted.saturating_add(1);
        if self.accepted.saturating_mul(2) < self.requeued {
            return None;
        }
        let requeued = self.requeued.saturating_mul(4).clamp(FIRST_REQUEUE, MAX_REQUEUE);
        *self = Self { requeued, accepted: 0 };
        Some(requeued)
    }
}

impl Default for Requeue {
    /// After a start the health of every destination is unknown, so each is probed.
    fn default() -> Self {
        Self(Mutex::new(RequeueRequests {
            one_per_destination_after: Some(String::new()),
            ..RequeueRequests::default()
        }))
    }
}

impl Requeue {
    pub fn request(&self, waits_for: WaitsFor, most: u32) {
        self.with(|requests| requests.most.insert(waits_for, most));
    }

    /// Requests a probe after a back-off: without one, and without new mail, nothing would try the
    /// hosts.
    pub fn request_probe(&self, waits_for: WaitsFor) {
        self.with(|requests| requests.probes.insert(waits_for));
    }

    pub fn request_one_per_destination(&self, after: String) {
        self.with(|requests| earlier(&mut requests.one_per_destination_after, after));
    }

    pub fn request_all(&self, after: MessageId) {
        self.with(|requests| earlier(&mut requests.all_after, after));
    }

    /// The requests since the last call.
    #[must_use]
    pub fn take(&self) -> RequeueRequests {
        self.with(mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut RequeueRequests) -> T) -> T {
        change(&mut lock(&self.0))
    }
}

/// Keeps the earlier of two positions: a request from the beginning must not be lost.
fn earlier<T: Ord>(requests: &mut Option<T>, after: T) {
    let before = requests.take();
    *requests = before.into_iter().chain([after]).min();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_grows_with_what_is_accepted() {
        let mut recovery = Recovery::default();
        let requeued = (0..1_200).filter_map(|_| recovery.record_success()).collect::<Vec<_>>();
        assert_eq!(requeued, [32, 128, 512, 1_000, 1_000]);
    }

    #[test]
    fn a_request_is_taken_up_once() {
        let requeue = Requeue::default();
        let waits_for = || WaitsFor::Mx("example.com".to_owned());
        assert!(requeue.take().one_per_destination_after.is_some(), "at the start");
        requeue.request(waits_for(), 32);
        requeue.request(waits_for(), 128);
        requeue.request_one_per_destination("a".to_owned());
        let most = BTreeMap::from([(waits_for(), 128)]);
        let one_per_destination_after = Some("a".to_owned());
        assert_eq!(
            requeue.take(),
            RequeueRequests { one_per_destination_after, most, ..RequeueRequests::default() }
        );
        assert_eq!(requeue.take(), RequeueRequests::default());
    }
}
