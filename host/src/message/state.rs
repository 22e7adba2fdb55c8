//! The states of a message. Every one but the last ones has a next event; every one has a reason.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// Waits for its `sendAt`.
    Scheduled,
    /// Waits for an attempt.
    Queued,
    /// An attempt is under way.
    Sending,
    /// A mail exchanger, or the sandbox inbox, took it.
    Delivered,
    /// A smarthost took it.
    Relayed,
    /// The last attempt failed for now, or its destination cannot be reached; another attempt follows.
    Deferred,
    /// The recipient's server refused it for good.
    Bounced,
    /// The message cannot be delivered, for another reason than a reply of the recipient's server.
    Failed,
    /// Its recipient is on the suppression list; it was never sent and cost nothing.
    Suppressed,
    /// Its sender called it back in time.
    Canceled,
}

/// What becomes of a request to retry a message now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnRetry {
    /// It is made due.
    MakeDue,
    /// It is due, or being sent, already.
    UnderWay,
    /// There is no further attempt, or not yet.
    Refuse,
}

/// What becomes of its sender's wish to call a message back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCancel {
    /// It is canceled, for this reason.
    Cancel { reason: &'static str },
    /// It is canceled already.
    Done,
    /// It is too late.
    Refuse,
}

/// What becomes of the price of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refund {
    /// The price stays paid: the message is still tried, or a server took or refused it.
    Nothing,
    /// The price is refunded, once, unless an attempt may have arrived. May have arrived: the whole message was sent and
    /// no reply came, or the server stopped in the middle of the attempt. The ledger says the reason.
    UnlessArrived { reason: &'static str },
}

const CANCELED: &str = "canceled by its sender";

impl MessageState {
    pub const ALL: [Self; 10] = [
        Self::Scheduled,
        Self::Queued,
        Self::Sending,
        Self::Delivered,
        Self::Relayed,
        Self::Deferred,
        Self::Bounced,
        Self::Failed,
        Self::Suppressed,
        Self::Canceled,
    ];

    /// The word in the database, the API and the event's type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Delivered => "delivered",
            Self::Relayed => "relayed",
            Self::Deferred => "deferred",
            Self::Bounced => "bounced",
            Self::Failed => "failed",
            Self::Suppressed => "suppressed",
            Self::Canceled => "canceled",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether its sender can still cancel it. Not while it is being sent, even where nobody holds it after a
    /// crash: it may have arrived.
    #[must_use]
    pub fn on_cancel(self) -> OnCancel {
        match self {
            Self::Scheduled | Self::Queued | Self::Deferred => {
                OnCancel::Cancel { reason: CANCELED }
            }
            Self::Canceled => OnCancel::Done,
            Self::Sending
            | Self::Delivered
            | Self::Relayed
            | Self::Bounced
            | Self::Failed
            | Self::Suppressed => OnCancel::Refuse,
        }
    }

    /// What becomes of the price of a message that comes into this state: whoever pays for a message that no server
    /// had gets the price back.
    #[must_use]
    pub fn refund(self) -> Refund {
        match self {
            Self::Failed | Self::Suppressed => {
                Refund::UnlessArrived { reason: "the message never left" }
            }
            Self::Canceled => Refund::UnlessArrived { reason: CANCELED },
            Self::Scheduled
            | Self::Queued
            | Self::Sending
            | Self::Deferred
            | Self::Delivered
            | Self::Relayed
            | Self::Bounced => Refund::Nothing,
        }
    }

    /// What a request for another attempt now means in this state.
    #[must_use]
    pub fn on_retry(self) -> OnRetry {
        match self {
            Self::Deferred => OnRetry::MakeDue,
            Self::Queued | Self::Sending => OnRetry::UnderWay,
            Self::Scheduled
            | Self::Delivered
            | Self::Relayed
            | Self::Bounced
            | Self::Failed
            | Self::Suppressed
            | Self::Canceled => OnRetry::Refuse,
        }
    }

    /// Whether a report that the message did not arrive can still be true of it. One that is still tried may have
    /// arrived without our hearing of it.
    #[must_use]
    pub fn can_bounce(self) -> bool {
        match self {
            Self::Sending | Self::Deferred | Self::Delivered | Self::Relayed => true,
            Self::Scheduled
            | Self::Queued
            | Self::Bounced
            | Self::Failed
            | Self::Suppressed
            | Self::Canceled => false,
        }
    }

    /// Whether its recipient can complain about it: it may have arrived, also where a report says that it did not.
    #[must_use]
    pub fn can_be_complained_about(self) -> bool {
        self == Self::Bounced || self.can_bounce()
    }

    /// Whether the end of a message speaks against its recipient's address: nothing was delivered there.
    #[must_use]
    pub fn counts_against_address(self) -> bool {
        match self {
            Self::Bounced | Self::Failed => true,
            Self::Scheduled
            | Self::Queued
            | Self::Sending
            | Self::Delivered
            | Self::Relayed
            | Self::Deferred
            | Self::Suppressed
            | Self::Canceled => false,
        }
    }

    /// The states of which a rule is true, as in `all_that(MessageState::is_final)`.
    #[must_use]
    pub fn all_that(rule: fn(Self) -> bool) -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| rule(*it)).collect()
    }

    /// Whether nothing follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Scheduled | Self::Queued | Self::Sending | Self::Deferred => false,
            Self::Delivered
            | Self::Relayed
            | Self::Bounced
            | Self::Failed
            | Self::Suppressed
            | Self::Canceled => true,
        }
    }
}

impl fmt::Display for MessageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
