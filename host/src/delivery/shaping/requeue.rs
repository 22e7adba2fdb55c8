//! What waited for a destination goes on when that takes mail again: a few at first, and more with each
//! message that it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Mutex;

use crate::delivery::lock::lock;

/// How many go on after the first message that was taken, and at most at one time.
pub const FIRST: u32 = 32;
pub const MOST: u32 = 1_000;

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
pub struct Wakes(Mutex<Called>);

/// What is to go on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// One message for each destination behind that name, so that each is tried.
    pub one_of_each: Option<String>,
    /// All that wait for a destination, behind that identifier: their way may be another one.
    pub all: Option<String>,
    /// So many for these.
    pub hosts: BTreeMap<String, u32>,
    /// One for each of these, if many wait.
    pub probes: BTreeSet<String>,
}

impl Recovery {
    /// It has taken a message: how many of those that wait may go on now.
    pub fn has_taken_one(&mut self) -> Option<u32> {
        self.taken = self.taken.saturating_add(1);
        if self.taken.saturating_mul(2) < self.woken {
            return None;
        }
        let woken = self.woken.saturating_mul(4).clamp(FIRST, MOST);
        *self = Self { woken, taken: 0 };
        Some(woken)
    }
}

impl Default for Wakes {
    /// Nobody knows yet how destinations are for which mail waits.
    fn default() -> Self {
        Self(Mutex::new(Called { one_of_each: Some(String::new()), ..Called::default() }))
    }
}

impl Wakes {
    /// So many may go on that wait for those hosts.
    pub fn call(&self, hosts: &str, most: u32) {
        self.with(|called| called.hosts.insert(hosts.to_owned(), most));
    }

    /// One may go on that waits under that name, if many do: their rest is over, and nobody else may come.
    pub fn call_one(&self, name: &str) {
        self.with(|called| called.probes.insert(name.to_owned()));
    }

    /// One message for each destination behind that name may go on.
    pub fn call_one_of_each(&self, after: String) {
        self.with(|called| earlier(&mut called.one_of_each, after));
    }

    /// All may go on that wait for a destination, behind that identifier.
    pub fn call_all(&self, after: String) {
        self.with(|called| earlier(&mut called.all, after));
    }

    /// What was called since it was asked last.
    #[must_use]
    pub fn take(&self) -> Called {
        self.with(mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Called) -> T) -> T {
        change(&mut lock(&self.0))
    }
}

/// Somebody may have called from the beginning meanwhile.
fn earlier(called: &mut Option<String>, after: String) {
    *called = Some(called.take().map_or(after.clone(), |it| it.min(after)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_grows_with_what_is_taken() {
        let mut recovery = Recovery::default();
        let woken = (0..1_200).filter_map(|_| recovery.has_taken_one()).collect::<Vec<_>>();
        assert_eq!(woken, [32, 128, 512, 1_000, 1_000]);
    }

    #[test]
    fn what_is_called_is_taken_once() {
        let wakes = Wakes::default();
        assert!(wakes.take().one_of_each.is_some(), "at the start");
        wakes.call("mx.example", 32);
        wakes.call("mx.example", 128);
        wakes.call_one_of_each("a".to_owned());
        let hosts = BTreeMap::from([("mx.example".to_owned(), 128)]);
        let one_of_each = Some("a".to_owned());
        assert_eq!(wakes.take(), Called { one_of_each, hosts, ..Called::default() });
        assert_eq!(wakes.take(), Called::default());
    }
}
