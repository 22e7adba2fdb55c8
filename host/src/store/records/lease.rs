//! What is read and decided when messages are leased, and when leases are recovered.

use std::collections::HashSet;

use super::Lease;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;

/// What may have changed since messages were accepted.
#[derive(Debug, Clone, Default)]
pub struct LeaseFacts {
    pub suspended: HashSet<AccountId>,
    /// Addresses on an account's suppression list, folded.
    pub suppressed: HashSet<(AccountId, String)>,
}

/// What becomes of messages that a worker has claimed.
#[derive(Debug)]
pub struct LeaseVerdict {
    /// Each with what its event says of the attempt.
    pub sent: Vec<(Lease, String)>,
    /// They wait, which counts as no attempt.
    pub waiting: Vec<HeldBack>,
    /// They are never sent.
    pub ended: Vec<(Lease, End)>,
    /// How messages end that this version of the server cannot read.
    pub unreadable: End,
}

/// A claimed message that is not sent now.
#[derive(Debug)]
pub struct HeldBack {
    pub lease: Lease,
    /// When it is read again.
    pub until: Timestamp,
    pub waits_for: WaitsFor,
    pub reason: &'static str,
}

/// How a message ends that is not sent at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub state: MessageState,
    pub reason: &'static str,
}

/// A message whose attempt was under way when the server stopped.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    pub message_id: MessageId,
    pub account_id: AccountId,
    /// Which attempt it was, from 1.
    pub attempt: u32,
}
