//! What a transaction of the commit accepts: pure, on facts that the store read. Where others commit beside, it is decided
//! again on what they have changed.
//!
//! The balance that a job sees already holds the debits of the jobs before it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::account::idempotency::ANSWERS_KEPT;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::AccountId;
use crate::message::state::MessageState;
use crate::store::records::{
    Acceptance, Accepted, Answer, CommitFacts, CreditEvent, CreditEventKind, Job, JobItem,
    JobOutcome, JobVerdict, NewMessage, Verdict,
};

/// Blank variables that the first event names; the decision record has all of them.
const MAX_BLANKS_NAMED: usize = 10;

/// What an operator decides of a commit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// The balance below which an account gets the event `credits.low` that has no threshold of its own.
    pub credits_low: Credits,
}

/// Decides jobs in their order.
#[must_use]
pub fn decide(rules: Rules, jobs: &[Job], facts: CommitFacts, now: Timestamp) -> Verdict<'_> {
    let balances: BTreeMap<AccountId, i64> =
        facts.balances.iter().map(|(account, balance)| (*account, *balance)).collect();
    let mut deciding = Deciding { facts, now, accepted: Vec::new() };
    let jobs = jobs.iter().map(|job| deciding.job(job)).collect();
    let mut credit_events = Vec::new();
    for (account, before) in balances {
        let after = deciding.facts.balances.get(&account).copied().unwrap_or(before);
        let threshold = deciding.facts.thresholds.get(&account).copied();
        let threshold = threshold.unwrap_or(rules.credits_low);
        credit_events.extend(credits_events(account, before, after, threshold));
    }
    let accepted = deciding.accepted;
    Verdict { jobs, accepted, credit_events, answers_until: now.after(ANSWERS_KEPT) }
}

struct Deciding<'a> {
    facts: CommitFacts,
    now: Timestamp,
    accepted: Vec<Accepted<'a>>,
}

/// How a message starts.
struct Start {
    state: MessageState,
    reason: &'static str,
    charged: Credits,
    due_at: Option<Timestamp>,
}

impl<'a> Deciding<'a> {
    fn job(&mut self, job: &'a Job) -> JobVerdict<'a> {
        let not_kept = |outcome| JobVerdict { outcome, kept_under: None };
        // First of all: the key may have been switched off since, and then gets no earlier answer either.
        let changed = self.facts.revisions.get(&job.account_id);
        if changed.is_none_or(|changed| *changed > job.revision) {
            return not_kept(JobOutcome::Stale);
        }
        let Some(idempotency) = &job.idempotency else {
            return not_kept(JobOutcome::Answered(self.answers(job)));
        };
        let key = (job.account_id, job.mode, idempotency.key.clone());
        if let Some((hash, answers)) = self.facts.answers.get(&key) {
            return not_kept(if hash[..] == idempotency.body_hash {
                JobOutcome::Replayed(answers.clone())
            } else {
                JobOutcome::KeyConflict
            });
        }
        let before = self.accepted.len();
        let answers = self.answers(job);
        // A refusal is not kept: the same request may be accepted later.
        if self.accepted.len() == before {
            return not_kept(JobOutcome::Answered(answers));
        }
        let kept = (idempotency.body_hash.to_vec(), answers.clone());
        self.facts.answers.insert(key, kept);
        JobVerdict { outcome: JobOutcome::Answered(answers), kept_under: Some(idempotency) }
    }

    fn answers(&mut self, job: &'a Job) -> Vec<Answer> {
        match self.unpaid_together(job) {
            Some(answer) => vec![answer; job.items.len()],
            None => job.items.iter().map(|item| self.answer(job, item)).collect(),
        }
    }

    /// The answer to all messages of a job that stand or fall together, where they cost too much.
    fn unpaid_together(&self, job: &Job) -> Option<Answer> {
        if job.acceptance == Acceptance::Each {
            return None;
        }
        let charged = job.items.iter().map(|item| match item {
            JobItem::Message(message) => self.start(job.account_id, message).charged.0,
            JobItem::Refused(_) => 0,
        });
        let required = Credits(charged.sum());
        let balance = Credits(self.facts.balances.get(&job.account_id).copied().unwrap_or(0));
        (required.0 > balance.0).then_some(Answer::Insufficient { required, balance })
    }

    fn answer(&mut self, job: &'a Job, item: &'a JobItem) -> Answer {
        let message = match item {
            JobItem::Message(message) => message,
            JobItem::Refused(refusal) => return Answer::Refused { refusal: refusal.clone() },
        };
        let Start { state, reason, charged, due_at } = self.start(job.account_id, message);
        let balance = self.facts.balances.entry(job.account_id).or_insert(0);
        if charged.0 > *balance {
            return Answer::Insufficient { required: charged, balance: Credits(*balance) };
        }
        *balance -= charged.0;
        self.accepted.push(Accepted {
            account: job.account_id,
            key: job.key_id,
            message,
            state,
            reason: with_blanks(reason, &message.blank),
            charged,
            due_at,
        });
        Answer::Accepted {
            message_id: message.id,
            credits_remaining: Credits(*balance),
            state,
            blank: message.blank.clone(),
            unread: message.unread.clone(),
            locale: message.locale.clone(),
        }
    }

    fn start(&self, account: AccountId, message: &NewMessage) -> Start {
        let suppressed = &self.facts.suppressed;
        if !suppressed.is_empty() && suppressed.contains(&(account, message.recipient.folded())) {
            return Start {
                state: MessageState::Suppressed,
                reason: "the recipient is on the suppression list",
                charged: Credits(0),
                due_at: None,
            };
        }
        let charged = message.price;
        match message.send_at {
            Some(at) if at > self.now => Start {
                state: MessageState::Scheduled,
                reason: "accepted; waits for its sendAt",
                charged,
                due_at: Some(at),
            },
            Some(_) | None => Start {
                state: MessageState::Queued,
                reason: "accepted",
                charged,
                due_at: Some(self.now),
            },
        }
    }
}

/// The first event of a message says what went out blank.
fn with_blanks(reason: &'static str, blank: &[String]) -> Cow<'static, str> {
    if blank.is_empty() {
        return reason.into();
    }
    let named: Vec<&str> = blank.iter().take(MAX_BLANKS_NAMED).map(String::as_str).collect();
    let named = named.join(", ");
    match blank.len().saturating_sub(MAX_BLANKS_NAMED) {
        0 => format!("{reason}; left blank: {named}").into(),
        more => format!("{reason}; left blank: {named} and {more} more").into(),
    }
}

/// The event about a balance: once when it falls below the threshold, once when it comes to zero.
fn credits_events(
    account: AccountId,
    before: i64,
    after: i64,
    threshold: Credits,
) -> impl Iterator<Item = CreditEvent> {
    let is_low = after < threshold.0 && before >= threshold.0;
    let is_exhausted = after == 0 && before > 0;
    let event = move |kind| CreditEvent { account, kind, balance: Credits(after), threshold };
    let low = is_low.then(|| event(CreditEventKind::Low));
    low.into_iter().chain(is_exhausted.then(|| event(CreditEventKind::Exhausted)))
}

#[cfg(test)]
mod tests;
