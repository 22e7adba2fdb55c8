//! When to try again, and when to give up.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::delivery::outcome::{
    AddressVerdict, Backoff, Contact, Deferral, FailureReason, Outcome, Report,
};
use crate::id::MessageId;
use crate::message::line::is_unsafe;
use crate::store::records::{
    AfterAttempt, AttemptEnding, AttemptHost, AttemptRecord, BackedOff, BounceClass, Due,
    Interrupted, Lease, NewSuppression, Settlement, Suppresses, SuppressionKind,
};

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
/// The pause after each attempt; the last one repeats.
const PAUSES_S: [u64; 7] = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];
const GIVE_UP_AFTER: Duration = Duration::from_secs(48 * HOUR);
/// The longest wait of a message during back-offs: where fewer than five wait, none is requeued
/// when a back-off ends.
const MAX_WAIT: Duration = Duration::from_mins(30);
/// How long a message waits that had fewer attempts than there are pauses, because its destination was
/// backed off from (RFC 5321 section 4.5.4.1: four to five days).
const GIVE_UP_UNTRIED_AFTER: Duration = Duration::from_hours(5 * 24);
/// The failures in a row of its destination that this takes besides: with back-offs of ten minutes they last
/// about as long as those pauses. A clock that jumps ahead gives nothing up.
const MIN_FAILURES: u32 = 50;
/// A failure without a reason suppresses if an earlier message to the address failed, too: at most so long
/// ago, and not within the same disturbance.
const SUSPICION: Duration = Duration::from_hours(30 * 24);
const SUSPICION_AFTER: Duration = Duration::from_hours(1);
const MAX_REASON_CHARS: usize = 500;
/// Less of what a message's own last attempt was answered: why its destination is backed off from says more.
const MAX_LAST_REPLY_CHARS: usize = 300;

/// What happens to a message whose destination is backed off from.
#[derive(Debug)]
pub enum WhileBackedOff {
    Wait(BackedOff),
    GiveUp(Report),
}

/// The pauses between attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule {
    pauses: Vec<Duration>,
    give_up_after: Duration,
    suppressed_for: Option<Duration>,
}

impl Default for RetrySchedule {
    fn default() -> Self {
        Self {
            pauses: PAUSES_S.into_iter().map(Duration::from_secs).collect(),
            give_up_after: GIVE_UP_AFTER,
            suppressed_for: None,
        }
    }
}

impl RetrySchedule {
    /// The default schedule with other pauses; an empty list keeps the default ones.
    #[must_use]
    pub fn with_pauses(pauses: Vec<Duration>) -> Self {
        if pauses.is_empty() { Self::default() } else { Self { pauses, ..Self::default() } }
    }

    /// Suppresses dead addresses for this time; for ever without one.
    #[must_use]
    pub fn suppressing_for(self, suppressed_for: Option<Duration>) -> Self {
        Self { suppressed_for, ..self }
    }

    /// Decides what the outcome of an attempt means for its message.
    #[must_use]
    pub fn settle(
        &self,
        lease: &Lease,
        report: Report,
        started_at: Timestamp,
        now: Timestamp,
    ) -> Settlement {
        let Report { outcome, words, contact } = report;
        let said = tidied(&words, MAX_REASON_CHARS);
        let suppression = || NewSuppression {
            account_id: lease.account_id,
            address: lease.recipient.folded(),
            kind: SuppressionKind::Bounce,
            reason: said.clone(),
            message_id: Some(lease.message_id),
            expires_at: self.suppressed_for.map(|it| now.after(it)),
        };
        let (class, suppresses) = match outcome.address_verdict() {
            AddressVerdict::Undecided => (BounceClass::Refused, Suppresses::Nobody),
            AddressVerdict::Suspect => {
                let (since, until) = (now.before(SUSPICION), now.before(SUSPICION_AFTER));
                let new = suppression();
                (BounceClass::Unclear, Suppresses::AfterAnotherFailure { new, since, until })
            }
            AddressVerdict::Dead => (BounceClass::Hard, Suppresses::Now(suppression())),
        };
        let (verdict, reason) = match &outcome {
            Outcome::Delivered(_) => (AfterAttempt::Delivered, said.clone()),
            Outcome::Relayed(_) => (AfterAttempt::Relayed, said.clone()),
            Outcome::Bounced(..) => (AfterAttempt::Bounced { class, suppresses }, said.clone()),
            Outcome::Failed(_) => (AfterAttempt::Failed(suppresses), said.clone()),
            Outcome::Deferred(why) => {
                if let Some(next) = self.next(lease, now) {
                    let next_attempt = match why {
                        Deferral::BackOff(_, backoff) => next.max(backoff.until),
                        Deferral::Refused(_)
                        | Deferral::NoReply
                        | Deferral::MayHaveArrived
                        | Deferral::UnresolvedMx(_) => next,
                    };
                    let waits_for = why.waits_for();
                    (AfterAttempt::Deferred { next_attempt, waits_for }, said.clone())
                } else {
                    let hours = self.give_up_after.as_secs() / HOUR;
                    let reason = format!("given up after {hours} hours: {said}");
                    (AfterAttempt::Failed(suppresses), reason)
                }
            }
        };
        let Contact { route, host, tls, conversation } = contact;
        let host = host.map(|(name, address)| AttemptHost { name, address: address.to_string() });
        Settlement {
            message_id: lease.message_id,
            account_id: lease.account_id,
            verdict,
            reason,
            attempt: AttemptRecord {
                number: lease.attempt,
                started_at,
                ended_at: now,
                route: route.map(|it| it.to_string()).unwrap_or_default(),
                host,
                tls,
                ending: outcome.into_ending(),
                reply: said,
                conversation,
            },
        }
    }

    /// Decides what happens to a message whose destination is backed off from. That is no attempt,
    /// so the pause grows with the failures of the destination.
    #[must_use]
    pub fn back_off(&self, due: &Due, backoff: &Backoff, now: Timestamp) -> WhileBackedOff {
        let age = due.first_at.map_or(Duration::ZERO, |first_at| first_at.until(now));
        let (patience, has_failed) = if self.has_had_its_attempts(due.attempts) {
            (self.give_up_after, true)
        } else {
            (GIVE_UP_UNTRIED_AFTER, backoff.failures >= MIN_FAILURES)
        };
        if age >= patience && has_failed {
            let words = format!(
                "given up after {} hours: its destination has failed {}: {}",
                patience.as_secs() / HOUR,
                times(backoff.failures),
                backoff.reason
            );
            return WhileBackedOff::GiveUp(Report::new(
                Outcome::Failed(FailureReason::Other),
                None,
                words,
            ));
        }
        let pause = self.pause(backoff.failures).unwrap_or_default().min(MAX_WAIT);
        let until = backoff.until.max(now.after(spread(pause, due.message_id)));
        let reason = format!(
            "backing off from its destination until {}, because the destination has failed {}: {}",
            backoff.until,
            times(backoff.failures),
            backoff.reason
        );
        let waits_for = backoff.waits_for();
        WhileBackedOff::Wait(BackedOff { message_id: due.message_id, until, waits_for, reason })
    }

    /// When the next attempt is due; none once the message is given up. The pause is spread by up
    /// to a tenth, by the message's id, so that messages that failed together are not retried
    /// together. A message always gets as many attempts as there are pauses: neither a clock that
    /// jumps nor a server that was off for a week gives it up.
    fn next(&self, lease: &Lease, now: Timestamp) -> Option<Timestamp> {
        let next = now.after(spread(self.pause(lease.attempt)?, lease.message_id));
        let in_time = next < lease.first_at.after(self.give_up_after);
        (in_time || !self.has_had_its_attempts(lease.attempt.saturating_sub(1))).then_some(next)
    }

    fn pause(&self, failures: u32) -> Option<Duration> {
        let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        self.pauses.get(index).or(self.pauses.last()).copied()
    }

    fn has_had_its_attempts(&self, attempts: u32) -> bool {
        usize::try_from(attempts).is_ok_and(|it| it >= self.pauses.len())
    }
}

/// What is written of an attempt that was under way when the server stopped. Nobody knows how far it came: it
/// counts, the message is due at once, and its price is not refunded.
#[must_use]
pub fn interrupted(interrupted: Interrupted, now: Timestamp) -> Settlement {
    let Interrupted { message_id, account_id, attempt } = interrupted;
    let reason = "the server was stopped in the middle of this attempt; it may have arrived";
    Settlement {
        message_id,
        account_id,
        verdict: AfterAttempt::Deferred { next_attempt: now, waits_for: None },
        reason: reason.to_owned(),
        attempt: AttemptRecord {
            number: attempt,
            started_at: now,
            ended_at: now,
            route: String::new(),
            host: None,
            tls: None,
            ending: AttemptEnding::MayHaveArrived,
            reply: reason.to_owned(),
            conversation: String::new(),
        },
    }
}

/// Why a message waits whose own last attempt was answered so.
#[must_use]
pub fn after_last_reply(waiting: &BackedOff, last_reply: &str) -> String {
    let said: String = last_reply.chars().take(MAX_LAST_REPLY_CHARS).collect();
    format!("{}; its own last attempt: {said}", waiting.reason)
}

fn times(failures: u32) -> String {
    if failures == 1 { "once".to_owned() } else { format!("{failures} times in a row") }
}

/// A pause, by up to a tenth longer.
fn spread(pause: Duration, message: MessageId) -> Duration {
    let spread = message.ulid().bytes().map(u32::from).sum::<u32>() % 100;
    pause + pause * spread / 1_000
}

/// A reply's text without characters that are unsafe to show, and bounded.
fn tidied(words: &str, most: usize) -> String {
    words.chars().filter(|c| !is_unsafe(*c)).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::outcome::{ReplyCode, RouteTaken};
    use crate::id::AccountId;
    use crate::message::state::MessageState;
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
        }
    }

    fn backoff(since: Timestamp, until: Timestamp, failures: u32) -> Backoff {
        let (hosts, reason) = ("mx.example".into(), "it answers `554 no`".to_owned());
        Backoff { hosts, account: None, since, until, reason, failures }
    }

    fn deferred(attempt: u32, now: Timestamp) -> Settlement {
        let report = Report::deferred(Some(RouteTaken::Direct), "busy");
        RetrySchedule::default().settle(&lease(attempt), report, now, now)
    }

    #[test]
    fn pauses_grow_and_stay_within_a_tenth_of_the_schedule() {
        let now = Timestamp::from_millis(0);
        for (attempt, pause) in [(1, MINUTE), (2, 5 * MINUTE), (7, 4 * HOUR), (9, 4 * HOUR)] {
            let AfterAttempt::Deferred { next_attempt: next, .. } = deferred(attempt, now).verdict
            else {
                panic!("another attempt")
            };
            let pause = Duration::from_secs(pause);
            assert!(next >= now.after(pause) && next <= now.after(pause + pause / 10), "{attempt}");
        }
    }

    #[test]
    fn after_two_days_a_message_is_given_up_with_the_last_reason() {
        let late = Timestamp::from_millis(0).after(Duration::from_secs(47 * HOUR));
        let settlement = deferred(20, late);
        assert_eq!(settlement.verdict, AfterAttempt::Failed(Suppresses::Nobody));
        assert_eq!(settlement.reason, "given up after 48 hours: busy");
    }

    #[test]
    fn a_clock_that_jumps_a_week_ahead_gives_nothing_up() {
        let late = Timestamp::from_millis(0).after(Duration::from_hours(7 * 24));
        assert_eq!(deferred(2, late).verdict.state(), MessageState::Deferred);
        assert_eq!(deferred(7, late).verdict.state(), MessageState::Deferred);
        assert_eq!(deferred(8, late).verdict.state(), MessageState::Failed);
    }

    #[test]
    fn a_destination_that_rests_is_not_asked_before_its_time() {
        let now = Timestamp::from_millis(0);
        let until = now.after(Duration::from_mins(9));
        let why = Deferral::NoReply.backing_off(backoff(now, until, 1));
        let report = Report::new(Outcome::Deferred(why), Some(RouteTaken::Direct), "it rests");
        let settlement = RetrySchedule::default().settle(&lease(1), report, now, now);
        let waits_for = Some("mx.example".parse().expect("reads"));
        let wanted = AfterAttempt::Deferred { next_attempt: until, waits_for };
        assert_eq!(settlement.verdict, wanted);
    }

    fn backed_off(attempts: u32, age: Duration, failures: u32) -> WhileBackedOff {
        let first = Timestamp::from_millis(0);
        let now = first.after(age);
        let due = Due {
            message_id: MessageId::new(first),
            account_id: AccountId::new(first),
            lane: "example.com".to_owned(),
            due_at: now,
            is_wanted: false,
            octets: None,
            attempts,
            first_at: Some(first),
        };
        let until = now.after(Duration::from_mins(10));
        RetrySchedule::default().back_off(&due, &backoff(now, until, failures), now)
    }

    #[test]
    fn a_message_that_could_not_be_tried_waits_for_five_days() {
        let hours = |hours| Duration::from_hours(hours);
        for (attempts, age, failures, is_over) in [
            (7, hours(47), 50, false),
            (7, hours(48), 1, true),
            (6, hours(48), 50, false),
            (6, hours(120), 50, true),
            (0, hours(119), 50, false),
            (0, hours(120), 50, true),
            (0, hours(9_000), 49, false),
        ] {
            let found = backed_off(attempts, age, failures);
            let over =
                matches!(&found, WhileBackedOff::GiveUp(it) if it.words.ends_with("554 no`"));
            assert_eq!(over, is_over, "{attempts} attempts, {age:?}, {failures} failures");
        }
    }

    #[test]
    fn a_dead_address_is_suppressed_and_a_refused_message_is_not() {
        let now = Timestamp::from_millis(0).after(SUSPICION);
        let lease = lease(1);
        let settle = |address_verdict| {
            let reply = ReplyCode { code: 550, enhanced: None };
            let outcome = Outcome::Bounced(reply, address_verdict);
            let report = Report::new(outcome, Some(RouteTaken::Direct), "550 no");
            let schedule = RetrySchedule::default().suppressing_for(Some(Duration::from_hours(1)));
            let settlement = schedule.settle(&lease, report, now, now);
            let AfterAttempt::Bounced { class, suppresses } = settlement.verdict else {
                panic!("{settlement:?}")
            };
            (class, suppresses)
        };
        let undecided = (BounceClass::Refused, Suppresses::Nobody);
        assert_eq!(settle(AddressVerdict::Undecided), undecided);
        let (BounceClass::Hard, Suppresses::Now(suppression)) = settle(AddressVerdict::Dead) else {
            panic!("suppressed")
        };
        assert_eq!(suppression.address, "b@example.com");
        assert_eq!(suppression.expires_at, Some(now.after(Duration::from_hours(1))));
        let (since, until) = (Timestamp::from_millis(0), now.before(SUSPICION_AFTER));
        let new = suppression;
        let later = (BounceClass::Unclear, Suppresses::AfterAnotherFailure { new, since, until });
        assert_eq!(settle(AddressVerdict::Suspect), later);
    }
}
