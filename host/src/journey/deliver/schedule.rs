//! When to try again, and when to give up.

use std::time::Duration;

use super::outcome::Outcome;
use crate::clock::Timestamp;
use crate::message::state::MessageState;
use crate::store::records::{Lease, Settlement};

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
/// The pause after each attempt; the last one holds for all that follow.
const PAUSES_S: [u64; 7] = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];
const GIVE_UP_AFTER: Duration = Duration::from_secs(48 * HOUR);
/// A server's reply is kept, but not a novel.
const REASON: usize = 500;

/// The pauses between attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pauses: Vec<Duration>,
    give_up_after: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            pauses: PAUSES_S.into_iter().map(Duration::from_secs).collect(),
            give_up_after: GIVE_UP_AFTER,
        }
    }
}

impl Schedule {
    /// The default schedule with other pauses; an empty list keeps the default ones.
    #[must_use]
    pub fn with_pauses(pauses: Vec<Duration>) -> Self {
        if pauses.is_empty() { Self::default() } else { Self { pauses, ..Self::default() } }
    }

    /// What an outcome means for the message.
    #[must_use]
    pub fn settle(&self, lease: &Lease, outcome: Outcome, now: Timestamp) -> Settlement {
        let (state, reason, next_attempt) = match outcome {
            Outcome::Delivered(reply) => (MessageState::Delivered, reply, None),
            Outcome::Bounced(reply) => (MessageState::Bounced, reply, None),
            Outcome::Failed(reason) => (MessageState::Failed, reason, None),
            Outcome::Deferred(reason) => {
                if let Some(next) = self.next(lease, now) {
                    (MessageState::Deferred, reason, Some(next))
                } else {
                    let hours = self.give_up_after.as_secs() / HOUR;
                    let reason = format!("given up after {hours} hours: {reason}");
                    (MessageState::Failed, reason, None)
                }
            }
        };
        let reason = reason.chars().filter(|c| !c.is_control()).take(REASON).collect();
        Settlement {
            message_id: lease.message_id,
            account_id: lease.account_id,
            state,
            reason,
            next_attempt,
        }
    }

    /// The pause grows with the attempts and is spread by up to a tenth, by the message's own id,
    /// so that what failed together does not come back together.
    fn next(&self, lease: &Lease, now: Timestamp) -> Option<Timestamp> {
        let index = usize::try_from(lease.attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let pause = *self.pauses.get(index).or(self.pauses.last())?;
        let spread = lease.message_id.ulid().bytes().map(u32::from).sum::<u32>() % 100;
        let next = now.after(pause + pause * spread / 1_000);
        (next < lease.first_at.after(self.give_up_after)).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AccountId, MessageId};
    use crate::store::records::RouteChoice;

    fn lease(attempt: u32) -> Lease {
        let at = Timestamp::from_millis(0);
        Lease {
            message_id: MessageId::new(at),
            account_id: AccountId::new(at),
            sender: "a@sandbox.test".parse().ok(),
            author: "a@sandbox.test".parse().expect("valid"),
            domain: None,
            recipient: "b@example.com".parse().expect("valid"),
            route: RouteChoice::Sandbox,
            attempt,
            first_at: at,
            raw: None,
        }
    }

    fn deferred(attempt: u32, now: Timestamp) -> Settlement {
        Schedule::default().settle(&lease(attempt), Outcome::Deferred("busy".to_owned()), now)
    }

    #[test]
    fn pauses_grow_and_stay_within_a_tenth_of_the_schedule() {
        let now = Timestamp::from_millis(0);
        for (attempt, pause) in [(1, MINUTE), (2, 5 * MINUTE), (7, 4 * HOUR), (9, 4 * HOUR)] {
            let next = deferred(attempt, now).next_attempt.expect("another attempt");
            let pause = Duration::from_secs(pause);
            assert!(next >= now.after(pause) && next <= now.after(pause + pause / 10), "{attempt}");
        }
    }

    #[test]
    fn after_two_days_a_message_is_given_up_with_the_last_reason() {
        let late = Timestamp::from_millis(0).after(Duration::from_secs(47 * HOUR));
        let settlement = deferred(20, late);
        assert_eq!((settlement.state, settlement.next_attempt), (MessageState::Failed, None));
        assert_eq!(settlement.reason, "given up after 48 hours: busy");
    }
}
