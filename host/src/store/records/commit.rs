//! What a transaction of the commit knows, and what it writes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NewMessage;
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, KeyId, MessageId};
use crate::message::state::MessageState;

/// What became of a [`super::Job`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// One answer for each item; durable.
    Answered(Vec<Answer>),
    /// The same request was answered before: that answer again.
    Replayed(Vec<Answer>),
    /// The client's key was used for another request.
    KeyConflict,
    /// The facts have changed since it was decided; nothing was written.
    Stale,
}

/// What became of one message of a request. Kept 24 hours for a client that asks again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Answer {
    /// Stored, charged and queued.
    Accepted {
        message_id: MessageId,
        /// The balance after it.
        credits_remaining: Credits,
        state: MessageState,
        /// Variables that its template left blank.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blank: Vec<String>,
        /// Members of the data that nothing in the template reads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<String>,
        /// The locale that it was rendered in, where its template has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        locale: Option<String>,
    },
    /// The balance is too low; nothing was stored.
    Insufficient { required: Credits, balance: Credits },
    /// The account was stopped before it came to this; nothing was stored.
    Refused { refusal: Value },
}

/// A client's key, of an account and a mode.
pub type IdempotencyKey = (AccountId, Mode, String);

/// What is decided on. Where others commit beside the transaction, it is decided again on what has changed meanwhile.
#[derive(Debug, Clone)]
pub struct CommitFacts {
    /// The revision that last changed a fact of each account.
    pub revisions: HashMap<AccountId, i64>,
    pub balances: HashMap<AccountId, i64>,
    /// The balances below which accounts want to be told so; of those that have said it.
    pub thresholds: HashMap<AccountId, Credits>,
    /// The recipients on their accounts' suppression lists, in lower case throughout.
    pub suppressed: HashSet<(AccountId, String)>,
    /// Answers that have not expired, each with the hash of the body that it was given to.
    pub answers: HashMap<IdempotencyKey, (Vec<u8>, Vec<Answer>)>,
}

/// What was decided: the store writes it, and decides nothing more.
#[derive(Debug)]
pub struct Verdict<'a> {
    /// One for each job, in order.
    pub jobs: Vec<JobVerdict<'a>>,
    pub accepted: Vec<Accepted<'a>>,
    pub credit_events: Vec<CreditEvent>,
    /// Until when kept answers are given again.
    pub answers_until: Timestamp,
}

/// What became of a job.
#[derive(Debug)]
pub struct JobVerdict<'a> {
    pub outcome: JobOutcome,
    /// The key under which its answers are kept.
    pub kept_under: Option<&'a Idempotency>,
}

/// A message that was accepted.
#[derive(Debug)]
pub struct Accepted<'a> {
    pub account: AccountId,
    pub key: KeyId,
    pub message: &'a NewMessage,
    /// The state that it starts in.
    pub state: MessageState,
    pub reason: Cow<'static, str>,
    pub charged: Credits,
    /// When its first attempt is due; none where there is none.
    pub due_at: Option<Timestamp>,
}

/// The event that the credits of an account come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditEvent {
    pub account: AccountId,
    pub kind: CreditEventKind,
    pub balance: Credits,
    /// The balance below which the event is `credits.low`.
    pub threshold: Credits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditEventKind {
    Low,
    Exhausted,
}
