//! Addresses that did not answer lately: others of the same domain are tried before them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::delivery::lock::lock;

/// For how long others are preferred.
const AVOIDED: Duration = Duration::from_mins(5);
/// Addresses that are remembered.
const MOST: usize = 10_000;

/// Such addresses, and until when.
#[derive(Debug, Default)]
pub struct Troubled(Mutex<HashMap<String, Timestamp>>);

impl Troubled {
    /// It did not answer.
    pub fn mark(&self, address: &str, now: Timestamp) {
        let mut marked = lock(&self.0);
        if marked.len() >= MOST {
            marked.retain(|_, until| is_ahead(*until, now));
            if marked.len() >= MOST {
                marked.clear();
            }
        }
        marked.insert(address.to_owned(), now.after(AVOIDED));
    }

    /// It answers.
    pub fn clear(&self, address: &str) {
        lock(&self.0).remove(address);
    }

    /// Whether others are better.
    #[must_use]
    pub fn has(&self, address: &str, now: Timestamp) -> bool {
        lock(&self.0).get(address).is_some_and(|until| is_ahead(*until, now))
    }
}

/// A clock that was set back makes nothing last longer.
fn is_ahead(until: Timestamp, now: Timestamp) -> bool {
    now < until && until <= now.after(AVOIDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_avoided_until_it_answers_or_for_five_minutes() {
        let (troubled, now) = (Troubled::default(), Timestamp::from_millis(1_800_000_000_000));
        troubled.mark("a", now);
        troubled.mark("b", now);
        troubled.clear("b");
        assert!(troubled.has("a", now) && !troubled.has("b", now));
        assert!(!troubled.has("a", now.after(AVOIDED)));
        assert!(!troubled.has("a", now.before(AVOIDED)), "a clock that was set back");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (troubled, now) = (Troubled::default(), Timestamp::from_millis(0));
        for n in 0..=MOST {
            troubled.mark(&n.to_string(), now);
        }
        assert!(lock(&troubled.0).len() <= MOST);
    }
}
