//! The state machine of a sender domain: to which phase the result of a check leads, and when the next check is due.
//!
//! No I/O, no clock. Only what DNS has shown changes a phase; a failed lookup, or a policy without a verdict, does not.

use std::time::Duration;

use super::state::{Phase, Standing};
use crate::clock::Timestamp;

/// When domains are checked, and how long they may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Time from adding a domain to its first check; also the shortest pause between any two checks.
    pub first: Duration,
    /// The longest pause between two checks; verified domains are checked at this pause.
    pub regular: Duration,
    /// How long a verified domain that fails goes on sending.
    pub grace: Duration,
    /// How long a pending or degraded domain is checked before it is given up.
    pub give_up: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            first: Duration::from_mins(1),
            regular: Duration::from_hours(24),
            grace: Duration::from_hours(72),
            give_up: Duration::from_hours(30 * 24),
        }
    }
}

/// What one check has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Every required record is there and right.
    Complete,
    /// A required record was seen to be absent or wrong.
    Lacking,
    /// As [`Self::Lacking`]; the ownership record is among what is absent or wrong, and another account has proven the
    /// domain.
    TakenOver,
    /// No required record was seen to be absent or wrong, but a lookup failed or the policy could not judge a record.
    Unclear,
}

/// What is written down for the account holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainEvent {
    /// The domain may send from now on.
    Verified,
    /// A required record is gone or wrong; the domain stops sending when the grace period ends.
    Warning,
    /// The domain may not send any more.
    Degraded,
    /// The domain is not checked any more unless somebody asks.
    Failed,
}

/// Where a domain stands after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub phase: Phase,
    pub since: Timestamp,
    /// What happened to it.
    pub event: Option<DomainEvent>,
}

impl DomainEvent {
    /// The event's type, as receivers of webhooks see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "domain.verified",
            Self::Warning => "domain.warning",
            Self::Degraded => "domain.degraded",
            Self::Failed => "domain.failed",
        }
    }
}

impl Schedule {
    /// What a check does to a domain.
    #[must_use]
    pub fn step(&self, standing: &Standing, shown: Shown, now: Timestamp) -> Step {
        let stay = Step { phase: standing.phase, since: standing.since, event: None };
        let go = |phase, event| Step { phase, since: now, event: Some(event) };
        let over = |limit| now >= standing.since.after(limit);
        match (standing.phase, shown) {
            (Phase::Verified, Shown::Complete) | (_, Shown::Unclear) => stay,
            (_, Shown::Complete) => go(Phase::Verified, DomainEvent::Verified),
            (Phase::Verified | Phase::Warned, Shown::TakenOver) => {
                go(Phase::Degraded, DomainEvent::Degraded)
            }
            (Phase::Verified, Shown::Lacking) => go(Phase::Warned, DomainEvent::Warning),
            (Phase::Warned, Shown::Lacking) if over(self.grace) => {
                go(Phase::Degraded, DomainEvent::Degraded)
            }
            (Phase::Pending | Phase::Degraded, Shown::Lacking | Shown::TakenOver)
                if over(self.give_up) =>
            {
                go(Phase::Failed, DomainEvent::Failed)
            }
            (
                Phase::Pending | Phase::Warned | Phase::Degraded | Phase::Failed,
                Shown::Lacking | Shown::TakenOver,
            ) => stay,
        }
    }

    /// How long until the next check; none for a domain that was given up.
    ///
    /// A pending, warned or degraded domain is checked after a quarter of the time since its phase began: often at
    /// first, then ever more rarely. `moving_since` is the moment since which a lookup fails or a key rotation waits.
    /// The policy may ask for an earlier check (`preferred`), down to a quarter of the pause, and never for a later
    /// one.
    #[must_use]
    pub fn pause(
        &self,
        step: &Step,
        moving_since: Option<Timestamp>,
        preferred: Option<Duration>,
        now: Timestamp,
    ) -> Option<Duration> {
        let bounded = |pause: Duration| pause.max(self.first).min(self.regular);
        let moving = |since: Timestamp| bounded(since.until(now) / 4);
        let regular = match step.phase {
            Phase::Failed => return None,
            Phase::Verified => self.regular,
            Phase::Pending | Phase::Degraded => moving(step.since),
            Phase::Warned => {
                let end = now.until(step.since.after(self.grace));
                moving(step.since).min(end.max(self.first))
            }
        };
        let pause = regular.min(moving_since.map_or(regular, moving));
        Some(preferred.map_or(pause, |preferred| bounded(preferred).max(pause / 4).min(pause)))
    }
}

/// Jitter: the pause plus or minus up to a tenth by `random`, so that domains added together are not checked together
/// for ever.
#[must_use]
pub fn spread(pause: Duration, random: u16) -> Duration {
    pause * 9 / 10 + pause * u32::from(random) / (5 * u32::from(u16::MAX))
}

#[cfg(test)]
mod tests;
