//! Notices that a clock was set back: what was written before then lies in the future.

use std::time::{Duration, Instant};

use super::{Clock, Timestamp};

/// A clock that differs by more than this from what has passed was set.
const JUMP: Duration = Duration::from_secs(30);

/// Compares a clock with the time that has passed since the last look.
#[derive(Debug)]
pub struct Watch {
    wall: Timestamp,
    since: Instant,
}

impl Watch {
    /// Looks for the first time.
    #[must_use]
    pub fn new(clock: &Clock) -> Self {
        Self { wall: clock.now(), since: Instant::now() }
    }

    /// Whether the clock was set back since the last look.
    pub fn was_set_back(&mut self, clock: &Clock) -> bool {
        let (wall, since) = (clock.now(), Instant::now());
        let expected = self.wall.after(since.duration_since(self.since));
        (self.wall, self.since) = (wall, since);
        wall.after(JUMP) < expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_is_noticed_once() {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let mut watch = Watch::new(&clock);
        assert!(!watch.was_set_back(&clock));
        clock.set(clock.now().before(Duration::from_hours(1)));
        assert!(watch.was_set_back(&clock));
        assert!(!watch.was_set_back(&clock));
    }

    #[test]
    fn a_clock_that_is_put_right_by_a_little_or_set_ahead_is_not() {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let mut watch = Watch::new(&clock);
        clock.set(clock.now().before(Duration::from_secs(2)));
        assert!(!watch.was_set_back(&clock));
        clock.advance(Duration::from_hours(24));
        assert!(!watch.was_set_back(&clock));
    }
}
