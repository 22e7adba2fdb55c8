//! The wall clock: the only place below the wiring that reads the time.

pub mod log_throttle;
pub mod watch;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::{Rfc2822, Rfc3339};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(i64);

/// Answers "what time is it"; a manual one stands still until a test moves it.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `start` until [`Clock::advance`].
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(start.0))))
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(manual) => Timestamp(manual.load(Ordering::SeqCst)),
            None => Timestamp::from(SystemTime::now()),
        }
    }

    /// Sets a manual clock, backwards too; the system's clock is unaffected.
    pub fn set(&self, to: Timestamp) {
        if let Some(manual) = &self.0 {
            manual.store(to.0, Ordering::SeqCst);
        }
    }

    /// Moves a manual clock; the system's clock is unaffected.
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.0 {
            manual.fetch_add(millis(by), Ordering::SeqCst);
        }
    }
}

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Milliseconds since the Unix epoch, 0 before it.
    #[must_use]
    pub fn unsigned_millis(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// Days since the Unix epoch, UTC.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(86_400_000)
    }

    /// This moment and a duration.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis(by)))
    }

    /// A duration before this moment.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(millis(by)))
    }

    /// How long until `later`; zero when it is past.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// RFC 3339, UTC.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.offset_date_time().format(&Rfc3339).unwrap_or_default()
    }

    /// RFC 5322 section 3.3, UTC.
    #[must_use]
    pub fn rfc5322(self) -> String {
        self.offset_date_time().format(&Rfc2822).unwrap_or_default()
    }

    /// Parses RFC 3339 with any offset.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let parsed = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(parsed.unix_timestamp_nanos() / 1_000_000).ok().map(Self)
    }

    fn offset_date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// The wall clock as the system has it: spans are shorter than a millisecond.
#[cfg(feature = "otlp")]
#[must_use]
pub fn system_time() -> SystemTime {
    SystemTime::now()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_the_same_in_and_out() {
        let moment = Timestamp::parse_rfc3339("2026-11-21T12:00:00.250+02:00").expect("valid");
        assert_eq!(moment.rfc3339(), "2026-11-21T10:00:00.25Z");
        assert_eq!(moment.rfc5322(), "Sat, 21 Nov 2026 10:00:00 +0000");
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = Clock::manual(Timestamp::from_millis(5));
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now().millis(), 1_005);
    }
}
