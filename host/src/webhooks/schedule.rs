//! When a webhook delivery is retried.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::id::fill_random;

const SECOND: u64 = 1;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// The pauses after the first attempt, the second, and so on.
const PAUSES: [u64; 9] = [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
];
/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);
/// Bounds of the pause between probes of a failing endpoint.
const MIN_PROBE_PAUSE: Duration = Duration::from_millis(100);
const MAX_PROBE_PAUSE: Duration = Duration::from_mins(1);

/// The pauses between attempts; the first attempt is made at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pauses: Vec<Duration>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { pauses: PAUSES.into_iter().map(Duration::from_secs).collect() }
    }
}

impl Schedule {
    /// Other pauses, for labs; an empty list keeps the default ones.
    #[must_use]
    pub fn with_pauses(pauses: Vec<Duration>) -> Self {
        if pauses.is_empty() { Self::default() } else { Self { pauses } }
    }

    /// When the attempt after `made` attempts is due; none where they are used up. The pause varies
    /// by a tenth, so that deliveries that failed together are not retried together. A longer
    /// `Retry-After` is honoured.
    #[must_use]
    pub fn next(&self, made: u32, asked: Option<Duration>, now: Timestamp) -> Option<Timestamp> {
        let index = usize::try_from(made).unwrap_or(usize::MAX).checked_sub(1)?;
        let pause = varied(*self.pauses.get(index)?, random());
        Some(now.after(honoured(asked.unwrap_or_default()).max(pause)))
    }

    /// The pause between probes of an endpoint that has failed for this long: half of that, within
    /// bounds, so that a short outage costs little time and a long one few probes.
    #[must_use]
    pub fn probe(&self, failing: Duration) -> Duration {
        let most = self.pauses.iter().copied().max().unwrap_or(MAX_PROBE_PAUSE);
        (failing / 2).clamp(MIN_PROBE_PAUSE, MAX_PROBE_PAUSE).min(most)
    }

    /// The longest pause between two attempts.
    #[must_use]
    pub fn longest(&self) -> Duration {
        let pauses = self.pauses.iter().map(|pause| varied(*pause, LATEST));
        pauses.fold(MAX_RETRY_AFTER, Duration::max)
    }
}

/// A `Retry-After` within its bound.
#[must_use]
pub fn honoured(asked: Duration) -> Duration {
    asked.min(MAX_RETRY_AFTER)
}

/// The random number that makes a pause longest.
const LATEST: u32 = 2_000;

/// A pause from nine to eleven tenths.
fn varied(pause: Duration, random: u32) -> Duration {
    pause * (9_000 + random % 2_001) / 10_000
}

fn random() -> u32 {
    let mut bytes = [0; 4];
    fill_random(&mut bytes);
    u32::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_are_made_over_about_three_days() {
        let (schedule, now) = (Schedule::default(), Timestamp::from_millis(0));
        let hours = |made| schedule.next(made, None, now).map(|it| now.until(it));
        for (made, pause) in (1..).zip(PAUSES.map(Duration::from_secs)) {
            let found = hours(made).expect("another attempt");
            assert!(found >= pause * 9 / 10 && found <= pause * 11 / 10, "{made}: {found:?}");
        }
        assert_eq!(hours(10), None, "ten are enough");
        let all: u64 = PAUSES.iter().sum();
        assert_eq!(all, 75 * HOUR + 35 * MINUTE + 5);
    }

    #[test]
    fn the_pause_varies_by_a_tenth_and_no_more() {
        let pause = Duration::from_secs(100);
        assert_eq!(varied(pause, 0), Duration::from_secs(90));
        assert_eq!(varied(pause, 1_000), pause);
        assert_eq!(varied(pause, 2_000), Duration::from_secs(110));
        assert!(varied(pause, u32::MAX) <= Duration::from_secs(110));
    }

    #[test]
    fn no_pause_is_longer_than_the_longest() {
        assert_eq!(Schedule::default().longest(), Duration::from_secs(24 * HOUR) * 11 / 10);
        let short = Schedule::with_pauses(vec![Duration::from_secs(100)]);
        assert_eq!(short.longest(), MAX_RETRY_AFTER, "an endpoint may ask for it");
    }

    #[test]
    fn probes_are_as_far_apart_as_it_has_failed_and_closer_in_labs() {
        let probe =
            |schedule: &Schedule, failing| schedule.probe(Duration::from_secs(failing)).as_millis();
        for (failing, pause) in [(0, 100), (1, 500), (119, 59_500), (1_000_000, 60_000)] {
            assert_eq!(probe(&Schedule::default(), failing), pause);
        }
        let lab = Schedule::with_pauses(vec![Duration::from_secs(2); 3]);
        assert_eq!((probe(&lab, 0), probe(&lab, 3), probe(&lab, 100)), (100, 1_500, 2_000));
    }

    #[test]
    fn an_endpoint_may_put_an_attempt_off_but_not_hasten_it_and_not_for_ever() {
        let schedule = Schedule::with_pauses(vec![Duration::from_secs(100)]);
        let now = Timestamp::from_millis(0);
        let after = |seconds| {
            let asked = Some(Duration::from_secs(seconds));
            schedule.next(1, asked, now).map(|it| now.until(it).as_secs())
        };
        assert!(after(1) >= Some(90), "not sooner");
        assert_eq!(after(500), Some(500));
        assert_eq!(after(u64::MAX), Some(24 * HOUR));
    }
}
