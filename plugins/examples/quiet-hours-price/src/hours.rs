//! A span of hours of the day, perhaps over midnight.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Hours of the day in UTC; they may go over midnight.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hours {
    /// The first hour, 0 to 23.
    #[schemars(range(min = 0, max = 23))]
    pub from_hour: u8,
    /// The hour at which they end, 0 to 23.
    #[schemars(range(min = 0, max = 23))]
    pub until_hour: u8,
}

impl Hours {
    /// Seconds until the end, rounded up; none outside of the hours.
    pub fn seconds_left(self, now_unix_ms: u64) -> Option<u32> {
        let now = now_unix_ms % DAY_MS;
        let (from, until) = (self.start_ms(), u64::from(self.until_hour) * HOUR_MS);
        let inside =
            if from < until { (from..until).contains(&now) } else { now >= from || now < until };
        let left = (until + DAY_MS - now) % DAY_MS;
        inside.then(|| u32::try_from(left.div_ceil(1000)).unwrap_or(u32::MAX))
    }

    /// Milliseconds from midnight to the first hour.
    pub fn start_ms(self) -> u64 {
        u64::from(self.from_hour) * HOUR_MS
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:00 to {:02}:00", self.from_hour, self.until_hour)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(from_hour: u8, until_hour: u8, now_ms: u64) -> Option<u32> {
        Hours { from_hour, until_hour }.seconds_left(20_000 * DAY_MS + now_ms)
    }

    #[test]
    fn the_first_moment_is_inside_and_the_last_is_not() {
        assert_eq!(left(9, 10, 9 * HOUR_MS), Some(3600));
        assert_eq!(left(9, 10, 10 * HOUR_MS - 1), Some(1));
        assert_eq!(left(9, 10, 10 * HOUR_MS), None);
        assert_eq!(left(9, 10, 9 * HOUR_MS - 1), None);
    }

    #[test]
    fn hours_go_over_midnight() {
        assert_eq!(left(22, 7, 23 * HOUR_MS), Some(8 * 3600));
        assert_eq!(left(22, 7, 0), Some(7 * 3600));
        assert_eq!(left(22, 7, 12 * HOUR_MS), None);
        assert_eq!(left(22, 0, 23 * HOUR_MS), Some(3600));
    }
}
