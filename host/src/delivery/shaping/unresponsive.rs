//! Addresses that did not answer lately: other addresses of the same domain are tried first.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::delivery::lock::lock;

const AVOIDED_FOR: Duration = Duration::from_mins(5);
const MAX_ADDRESSES: usize = 10_000;

/// Each address with the end of its avoidance.
#[derive(Debug, Default)]
pub struct UnresponsiveAddresses(Mutex<HashMap<String, Timestamp>>);

impl UnresponsiveAddresses {
    pub fn mark(&self, address: &str, now: Timestamp) {
        let mut marked = lock(&self.0);
        if marked.len() >= MAX_ADDRESSES {
            marked.retain(|_, until| is_ahead(*until, now));
            if marked.len() >= MAX_ADDRESSES {
                marked.clear();
            }
        }
        marked.insert(address.to_owned(), now.after(AVOIDED_FOR));
    }

    pub fn clear(&self, address: &str) {
        lock(&self.0).remove(address);
    }

    #[must_use]
    pub fn has(&self, address: &str, now: Timestamp) -> bool {
        lock(&self.0).get(address).is_some_and(|until| is_ahead(*until, now))
    }
}

/// A clock that was set back makes nothing last longer.
fn is_ahead(until: Timestamp, now: Timestamp) -> bool {
    now < until && until <= now.after(AVOIDED_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_avoided_until_it_answers_or_for_five_minutes() {
        let (unresponsive, now) =
            (UnresponsiveAddresses::default(), Timestamp::from_millis(1_800_000_000_000));
        unresponsive.mark("a", now);
        unresponsive.mark("b", now);
        unresponsive.clear("b");
        assert!(unresponsive.has("a", now) && !unresponsive.has("b", now));
        assert!(!unresponsive.has("a", now.after(AVOIDED_FOR)));
        assert!(!unresponsive.has("a", now.before(AVOIDED_FOR)), "a clock that was set back");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (unresponsive, now) = (UnresponsiveAddresses::default(), Timestamp::from_millis(0));
        for n in 0..=MAX_ADDRESSES {
            unresponsive.mark(&n.to_string(), now);
        }
        assert!(lock(&unresponsive.0).len() <= MAX_ADDRESSES);
    }
}
