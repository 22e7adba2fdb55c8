//! When a certificate is renewed, and when a failed order is tried again.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::id::fill_random;

/// Doubled from failure to failure: not more than five proofs in the first hour, which is what Let's Encrypt allows. A restart
/// begins anew.
const FIRST_RETRY: Duration = Duration::from_mins(5);
const LAST_RETRY_NEAR_THE_END: Duration = Duration::from_hours(1);
const LAST_RETRY: Duration = Duration::from_hours(12);
const NEAR_THE_END: Duration = Duration::from_hours(3 * 24);
/// The bounds of the pause between two requests for the renewal window, whatever `Retry-After` says (RFC 9773 section 4.3.2).
const MIN_ASK_PAUSE: Duration = Duration::from_mins(1);
const MAX_ASK_PAUSE: Duration = Duration::from_hours(24);

/// A time within which the CA suggests a renewal (RFC 9773 section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub start: Timestamp,
    pub end: Timestamp,
}

/// A random part of a whole, so that not all servers of the world renew in one second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(u32);

impl Chance {
    pub fn random() -> Self {
        let mut bytes = [0; 4];
        fill_random(&mut bytes);
        Self(u32::from_ne_bytes(bytes))
    }

    fn of(self, whole: Duration) -> Duration {
        let millis = (whole.as_millis() * u128::from(self.0)) >> u32::BITS;
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl Window {
    pub fn moment(self, chance: Chance) -> Timestamp {
        self.start.after(chance.of(self.start.until(self.end)))
    }
}

/// Two thirds of a life, or a fiftieth of it before.
pub(super) fn at_two_thirds(from: Timestamp, until: Timestamp, chance: Chance) -> Timestamp {
    let life = from.until(until);
    from.after(life * 2 / 3).before(chance.of(life / 50))
}

/// The pause after so many failures in a row, where the certificate is good for so long. It does not reach far into the last
/// days, in which a try is made at least hourly.
pub(super) fn retry_pause(failures: u32, left: Duration, chance: Chance) -> Duration {
    let until_near_the_end = left.saturating_sub(NEAR_THE_END);
    let last = until_near_the_end.clamp(LAST_RETRY_NEAR_THE_END, LAST_RETRY);
    let doubled = FIRST_RETRY.saturating_mul(1 << failures.saturating_sub(1).min(10));
    let pause = doubled.min(last);
    pause.saturating_sub(chance.of(pause / 4))
}

/// The pause until a CA is asked again for its suggestion, which wants so long a one.
pub(super) fn ask_pause(wanted: Duration) -> Duration {
    wanted.clamp(MIN_ASK_PAUSE, MAX_ASK_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);
    const NEVER: Chance = Chance(0);
    const ALWAYS: Chance = Chance(u32::MAX);

    fn day(number: u32) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(DAY * number)
    }

    #[test]
    fn a_certificate_is_renewed_after_two_thirds_of_its_life() {
        assert_eq!(at_two_thirds(day(0), day(90), NEVER), day(60));
        let early = at_two_thirds(day(0), day(90), ALWAYS);
        assert!(early < day(60) && early > day(58), "{early}");
        assert_eq!(at_two_thirds(day(9), day(0), NEVER), day(9), "a life of nothing");
    }

    #[test]
    fn the_window_of_the_ca_is_used_from_its_beginning_to_its_end() {
        let window = Window { start: day(50), end: day(52) };
        assert_eq!(window.moment(NEVER), day(50));
        assert!(window.moment(ALWAYS) > day(51) && window.moment(ALWAYS) <= day(52));
        let half = Chance(1 << 31);
        assert_eq!(window.moment(half), day(51));
    }

    #[test]
    fn a_ca_is_asked_for_its_window_once_a_minute_at_most() {
        let hours = Duration::from_hours;
        for (wanted, pause) in
            [(Duration::ZERO, Duration::from_mins(1)), (hours(6), hours(6)), (hours(500), DAY)]
        {
            assert_eq!(ask_pause(wanted), pause);
        }
    }

    #[test]
    fn failed_orders_are_tried_again_ever_later_and_sooner_near_the_end() {
        let pause = |failures, left| retry_pause(failures, left, NEVER);
        let minutes = |number| Duration::from_mins(number);
        assert_eq!([1, 2, 3].map(|it| pause(it, DAY * 30)), [5, 10, 20].map(minutes));
        assert_eq!(pause(1_000, DAY * 30), Duration::from_hours(12));
        assert_eq!(pause(1_000, DAY), Duration::from_hours(1));
        let soon_near = DAY * 3 + Duration::from_hours(5);
        assert_eq!(
            pause(1_000, soon_near),
            Duration::from_hours(5),
            "not 12 h, of which 7 are late"
        );
        assert!(retry_pause(1, DAY, ALWAYS) > minutes(3), "a quarter earlier at most");
        let first_hour: Duration = (1..=4).map(|it| retry_pause(it, DAY, ALWAYS)).sum();
        assert!(first_hour > minutes(55), "not more than five orders in the first hour");
    }
}
