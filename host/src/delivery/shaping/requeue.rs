//! What waited for a destination goes on when that takes mail again: a few at first, and more with each
//! message that it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Mutex;

use crate::delivery::lock::lock;

/// How many go on after the first message that was taken, and at most at one time.
pub const FIRST_REQUEUE: u32 = 32;
pub const MAX_REQUEUE: u32 = 1_000;

/// How far a destination that takes mail again is trusted.
#[derive(Debug, Default)]
pub struct Recovery {
    /// How many were let go on last.
    woken: u32,
    /// How many it has taken since.
    taken: u32,
}

/// For which destinations mail may go on that waits for them.
#[derive(Debug)]
pub struct Requeue(Mutex<RequeueRequests>);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequeueRequests {
    /// One message for each destination behind that name, so that each is tried.
    pub one_per_destination: Option<String>,
    /// All that wait for a destination, behind that identifier: their way may be another one.
    pub all: Option<String>,
    /// So many for these.
    pub hosts: BTreeMap<String, u32>,
    /// One for each of these, if many wait.
    pub probes: BTreeSet<String>,
}

impl Recovery {
    /// It has taken a message: how many of those that wait may go on now.
    pub fn record_success(&mut self) -> Option<u32> {
        self.taken = self.taken.saturating_add(1);
        if self.taken.saturating_mul(2) < self.woken {
            return None;
        }
        let woken = self.woken.saturating_mul(4).clamp(FIRST_REQUEUE, MAX_REQUEUE);
        *self = Self { woken, taken: 0 };
        Some(woken)
    }
}

impl Default for Requeue {
    /// Nobody knows yet how destinations are for which mail waits.
    fn default() -> Self {
        Self(Mutex::new(RequeueRequests {
            one_per_destination: Some(String::new()),
            ..RequeueRequests::default()
        }))
    }
}

impl Requeue {
    /// So many may go on that wait for those hosts.
    pub fn request(&self, hosts: &str, most: u32) {
        self.with(|requests| requests.hosts.insert(hosts.to_owned(), most));
    }

    /// One may go on that waits under that name, if many do: their rest is over, and nobody else may come.
    pub fn request_probe(&self, name: &str) {
        self.with(|requests| requests.probes.insert(name.to_owned()));
    }

    /// One message for each destination behind that name may go on.
    pub fn request_one_per_destination(&self, after: String) {
        self.with(|requests| earlier(&mut requests.one_per_destination, after));
    }

    /// All may go on that wait for a destination, behind that identifier.
    pub fn request_all(&self, after: String) {
        self.with(|requests| earlier(&mut requests.all, after));
    }

    /// What was called since it was asked last.
    #[must_use]
    pub fn take(&self) -> RequeueRequests {
        self.with(mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut RequeueRequests) -> T) -> T {
        change(&mut lock(&self.0))
    }
}

/// Somebody may have called from the beginning meanwhile.
fn earlier(requests: &mut Option<String>, after: String) {
    *requests = Some(requests.take().map_or(after.clone(), |it| it.min(after)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_grows_with_what_is_taken() {
        let mut recovery = Recovery::default();
        let woken = (0..1_200).filter_map(|_| recovery.record_success()).collect::<Vec<_>>();
        assert_eq!(woken, [32, 128, 512, 1_000, 1_000]);
    }

    #[test]
    fn what_is_called_is_taken_once() {
        let requeue = Requeue::default();
        assert!(requeue.take().one_per_destination.is_some(), "at the start");
        requeue.request("mx.example", 32);
        requeue.request("mx.example", 128);
        requeue.request_one_per_destination("a".to_owned());
        let hosts = BTreeMap::from([("mx.example".to_owned(), 128)]);
        let one_per_destination = Some("a".to_owned());
        assert_eq!(
            requeue.take(),
            RequeueRequests { one_per_destination, hosts, ..RequeueRequests::default() }
        );
        assert_eq!(requeue.take(), RequeueRequests::default());
    }
}
