//! How often an address may fail to log in: a bucket for each that holds so many failures and forgives half as many each
//! minute. It counts by hand, and not by governor, because a log-in that succeeds gives back what it has taken.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_mins(1);

/// The buckets of all addresses. Of each bucket only the moment is kept at which the bucket is full again (GCRA): a
/// failure moves that moment on, and a failure that is given back moves the moment back.
#[derive(Debug)]
pub struct FailedLogins {
    burst: NonZeroU32,
    /// In which time one failure is forgiven.
    interval: Duration,
    /// When each bucket is full again; none for those that are.
    full_at: Mutex<HashMap<IpAddr, Instant>>,
}

impl FailedLogins {
    #[must_use]
    pub fn new(burst: NonZeroU32) -> Self {
        let forgiven = (burst.get() / 2).max(1);
        Self { burst, interval: MINUTE / forgiven, full_at: Mutex::default() }
    }

    /// How many failures a full bucket takes.
    #[must_use]
    pub fn burst(&self) -> NonZeroU32 {
        self.burst
    }

    /// Takes one failure of an address.
    ///
    /// # Errors
    /// There were too many; the time until it may take one again.
    pub fn take(&self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets();
        let before = buckets.get(&from).copied().filter(|it| *it > now).unwrap_or(now);
        let after = before + self.interval;
        let missing = (after - now).saturating_sub(self.interval * self.burst.get());
        if missing > Duration::ZERO {
            return Err(missing);
        }
        buckets.insert(from, after);
        Ok(())
    }

    /// Gives one failure back that was taken and was none. Where it is forgiven already, that changes nothing.
    pub fn give_back(&self, to: IpAddr) {
        let mut buckets = self.buckets();
        let Some(full_at) = buckets.get_mut(&to) else { return };
        if let Some(earlier) = full_at.checked_sub(self.interval) {
            *full_at = earlier;
        }
    }

    /// Forgets the buckets that are full again.
    pub fn tidy(&self, now: Instant) {
        self.buckets().retain(|_, full_at| *full_at > now);
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: u32 = 4;

    fn buckets() -> (FailedLogins, IpAddr, Instant) {
        let burst = NonZeroU32::new(BURST).expect("not zero");
        (FailedLogins::new(burst), "192.0.2.1".parse().expect("ip"), Instant::now())
    }

    #[test]
    fn half_of_a_bucket_is_forgiven_each_minute() {
        let (buckets, ip, start) = buckets();
        for _ in 0..BURST {
            assert_eq!(buckets.take(ip, start), Ok(()));
        }
        assert_eq!(buckets.take(ip, start), Err(MINUTE / 2));
        let later = start + MINUTE;
        assert_eq!([buckets.take(ip, later), buckets.take(ip, later)], [Ok(()), Ok(())]);
        assert_eq!(buckets.take(ip, later), Err(MINUTE / 2));
        buckets.tidy(later);
        assert_eq!(buckets.buckets().len(), 1, "it is not full yet");
        buckets.tidy(later + MINUTE * 2);
        assert!(buckets.buckets().is_empty());
    }

    #[test]
    fn what_is_given_back_late_adds_nothing_to_a_full_bucket() {
        let (buckets, ip, start) = buckets();
        for _ in 0..BURST {
            assert_eq!(buckets.take(ip, start), Ok(()));
        }
        let later = start + MINUTE * 10;
        for _ in 0..BURST {
            buckets.give_back(ip);
        }
        for _ in 0..BURST {
            assert_eq!(buckets.take(ip, later), Ok(()));
        }
        assert!(buckets.take(ip, later).is_err(), "no more than a full bucket");
    }
}
