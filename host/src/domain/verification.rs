//! From one check to the next: what a judgement does to a domain, and when it is checked again.
//!
//! Pure. Only what was seen moves a domain: what could not be seen, or not be judged, leaves it where
//! it stands.

use std::time::Duration;

use super::state::{Phase, Standing};
use crate::clock::Timestamp;

/// When domains are checked, and how long they may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// From the adding of a domain to its first check, and the shortest pause between two.
    pub first: Duration,
    /// The longest pause, and that of a verified domain.
    pub regular: Duration,
    /// How long a verified domain that fails goes on sending.
    pub grace: Duration,
    /// How long a domain that does not send is checked.
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
    /// The same, the proof of ownership among it, while another account has proven the domain.
    TakenOver,
    /// None was seen to be absent or wrong, but some could not be seen or not be judged.
    Unclear,
}

/// What is written down for the account holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainEvent {
    /// It sends from now on.
    Verified,
    /// It fails and will stop sending when the grace is over.
    Warning,
    /// It does not send any more.
    Degraded,
    /// It is not checked any more.
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
    /// A domain in motion is checked after a quarter of the time that it has been moving, so often at
    /// first and then ever more rarely. `unclear` is since when records cannot be seen; a `preferred` pause of the
    /// policy counts down to a quarter of the pause, so that it cannot keep the resolvers busy.
    #[must_use]
    pub fn pause(
        &self,
        step: &Step,
        unclear: Option<Timestamp>,
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
        let pause = regular.min(unclear.map_or(regular, moving));
        Some(preferred.map_or(pause, |preferred| bounded(preferred).max(pause / 4).min(pause)))
    }
}

/// Spreads a pause by up to a tenth to both sides; `random` is any number. What was added together
/// is not checked together for ever.
#[must_use]
pub fn spread(pause: Duration, random: u16) -> Duration {
    pause * 9 / 10 + pause * u32::from(random) / (5 * u32::from(u16::MAX))
}

#[cfg(test)]
mod tests;
