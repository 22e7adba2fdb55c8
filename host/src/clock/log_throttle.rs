//! Lets one log line a minute pass for each cause.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_mins(1);

/// The causes that were logged within the last minute.
#[derive(Debug)]
pub struct LogThrottle<Cause>(HashMap<Cause, Instant>);

impl<Cause: Eq + Hash> LogThrottle<Cause> {
    /// Whether a line of this cause may be logged at `now`; if so, the next minute of that cause is silent.
    pub fn admit(&mut self, cause: Cause, now: Instant) -> bool {
        self.0.retain(|_, logged| now.duration_since(*logged) < INTERVAL);
        match self.0.entry(cause) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(now);
                true
            }
        }
    }
}

impl<Cause> Default for LogThrottle<Cause> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_is_logged_once_a_minute_and_another_cause_at_once() {
        let (mut lines, start) = (LogThrottle::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(lines.admit("no descriptors", at(0)));
        assert!(!lines.admit("no descriptors", at(1)));
        assert!(lines.admit("not found", at(2)));
        assert!(!lines.admit("no descriptors", at(59)));
        assert!(lines.admit("no descriptors", at(60)));
    }
}
