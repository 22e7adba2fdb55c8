//! One transaction for many sends: debit, message, body, queue row, event, decision, idempotency.
//!
//! What is accepted is decided inside the transaction, under the write lock: the balance that a
//! job sees already holds the debits of the jobs before it. The rows are then written table by
//! table, many a statement.

mod credits;
mod known;
mod write;

use std::collections::{HashMap, HashSet};

use super::Store;
use super::database::to_json;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, KeyId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Acceptance, Answer, Job, JobOutcome, NewMessage, Slot};

/// Blank variables that the first event names; the decision record has all of them.
const BLANKS_NAMED: usize = 10;

/// A client's key, of an account and a mode.
type IdempotencyKey = (AccountId, Mode, String);

/// What the transaction knows before it decides.
struct Known {
    revision: i64,
    balances: HashMap<AccountId, i64>,
    suppressed: HashSet<(AccountId, String)>,
    answers: HashMap<IdempotencyKey, (Vec<u8>, Vec<Answer>)>,
}

/// A message that was accepted, with the state that it starts in.
struct Accepted<'a> {
    account: AccountId,
    key: KeyId,
    message: &'a NewMessage,
    state: MessageState,
    reason: String,
    charged: Credits,
}

/// How a message starts.
struct Start {
    state: MessageState,
    reason: &'static str,
    charged: Credits,
}

/// An answer to keep for a client that asks again.
struct Kept<'a> {
    account: AccountId,
    mode: Mode,
    key: &'a str,
    body_hash: &'a [u8; 32],
    answer: String,
}

impl Store {
    /// Commits jobs in one transaction and says what became of each, in order.
    ///
    /// # Errors
    /// The database failed; nothing of any job was written.
    pub async fn commit(
        &self,
        jobs: &[Job],
        now: Timestamp,
    ) -> Result<Vec<JobOutcome>, StoreError> {
        let mut tx = self.db.begin("commit").await?;
        let mut known = known::known(&mut tx, jobs, now).await?;
        let balances = known.balances.clone();
        let mut accepted = Vec::new();
        let mut kept = Vec::new();
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            outcomes.push(known.decide(job, now, &mut accepted, &mut kept));
        }
        if accepted.is_empty() {
            tx.rollback().await?;
            return Ok(outcomes);
        }
        write::write(&mut tx, &accepted, &kept, now).await?;
        let low = self.low_credits;
        credits::tell_balances(&mut tx, &balances, &known.balances, low, now).await?;
        tx.commit().await?;
        Ok(outcomes)
    }
}

impl Known {
    fn decide<'a>(
        &mut self,
        job: &'a Job,
        now: Timestamp,
        accepted: &mut Vec<Accepted<'a>>,
        kept: &mut Vec<Kept<'a>>,
    ) -> JobOutcome {
        // First of all: the key may have been switched off since, and then gets no earlier answer either.
        if job.revision != self.revision {
            return JobOutcome::Stale;
        }
        if let Some(idempotency) = &job.idempotency {
            let key = (job.account_id, job.mode, idempotency.key.clone());
            if let Some((hash, answers)) = self.answers.get(&key) {
                return if hash[..] == idempotency.body_hash {
                    JobOutcome::Replayed(answers.clone())
                } else {
                    JobOutcome::KeyConflict
                };
            }
        }
        let before = accepted.len();
        let answers: Vec<Answer> = match self.unpaid_together(job, now) {
            Some(answer) => vec![answer; job.slots.len()],
            None => job.slots.iter().map(|slot| self.answer(job, slot, now, accepted)).collect(),
        };
        if let Some(idempotency) = &job.idempotency
            && accepted.len() > before
        {
            let key = (job.account_id, job.mode, idempotency.key.clone());
            self.answers.insert(key, (idempotency.body_hash.to_vec(), answers.clone()));
            kept.push(Kept {
                account: job.account_id,
                mode: job.mode,
                key: &idempotency.key,
                body_hash: &idempotency.body_hash,
                answer: to_json(&answers),
            });
        }
        JobOutcome::Answered(answers)
    }

    /// The answer to all messages of a job that stand or fall together, where they cost too much.
    fn unpaid_together(&self, job: &Job, now: Timestamp) -> Option<Answer> {
        if job.acceptance == Acceptance::Each {
            return None;
        }
        let charged = job.slots.iter().map(|slot| match slot {
            Slot::Message(message) => self.start(job.account_id, message, now).charged.0,
            Slot::Refused(_) => 0,
        });
        let required = Credits(charged.sum());
        let balance = Credits(self.balances.get(&job.account_id).copied().unwrap_or(0));
        (required.0 > balance.0).then_some(Answer::Insufficient { required, balance })
    }

    /// How a message starts, and at what price.
    fn start(&self, account: AccountId, message: &NewMessage, now: Timestamp) -> Start {
        if self.suppressed.contains(&(account, message.recipient.folded())) {
            let reason = "the recipient is on the suppression list";
            Start { state: MessageState::Suppressed, reason, charged: Credits(0) }
        } else if message.send_at.is_some_and(|at| at > now) {
            let reason = "accepted; waits for its sendAt";
            Start { state: MessageState::Scheduled, reason, charged: message.price }
        } else {
            Start { state: MessageState::Queued, reason: "accepted", charged: message.price }
        }
    }

    fn answer<'a>(
        &mut self,
        job: &'a Job,
        slot: &'a Slot,
        now: Timestamp,
        accepted: &mut Vec<Accepted<'a>>,
    ) -> Answer {
        let message = match slot {
            Slot::Message(message) => message,
            Slot::Refused(refusal) => return Answer::Refused { refusal: refusal.clone() },
        };
        let Start { state, reason, charged } = self.start(job.account_id, message, now);
        let balance = self.balances.entry(job.account_id).or_insert(0);
        if charged.0 > *balance {
            return Answer::Insufficient { required: charged, balance: Credits(*balance) };
        }
        *balance -= charged.0;
        accepted.push(Accepted {
            account: job.account_id,
            key: job.key_id,
            message,
            state,
            reason: with_blanks(reason, &message.blank),
            charged,
        });
        Answer::Accepted {
            message_id: message.id,
            credits_remaining: Credits(*balance),
            state,
            blank: message.blank.clone(),
        }
    }
}

/// The first event of a message says what went out blank.
fn with_blanks(reason: &str, blank: &[String]) -> String {
    if blank.is_empty() {
        return reason.to_owned();
    }
    let named = blank.iter().take(BLANKS_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match blank.len().saturating_sub(BLANKS_NAMED) {
        0 => format!("{reason}; left blank: {named}"),
        more => format!("{reason}; left blank: {named} and {more} more"),
    }
}
