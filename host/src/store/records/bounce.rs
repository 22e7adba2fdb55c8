//! What webhooks get of a bounce, and whether it puts its recipient on the suppression list.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};

/// Why an address is suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressionKind {
    /// The address does not take mail for good.
    Bounce,
    /// Its holder has called a message spam.
    Complaint,
    /// Somebody of the account has put it there.
    Manual,
}

impl SuppressionKind {
    const ALL: [Self; 3] = [Self::Bounce, Self::Complaint, Self::Manual];

    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bounce => "bounce",
            Self::Complaint => "complaint",
            Self::Manual => "manual",
        }
    }

    /// The kinds that an entry of this kind may replace: a complaint stays, whatever follows.
    #[must_use]
    pub fn replaces(self) -> &'static [Self] {
        match self {
            Self::Complaint => &Self::ALL,
            Self::Bounce | Self::Manual => &[Self::Bounce, Self::Manual],
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// What webhooks get of a bounce besides its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BounceFacts {
    /// The SMTP reply code.
    pub code: Option<u16>,
    /// The enhanced status code, as in `5.1.1`.
    pub enhanced: Option<String>,
    /// What was refused.
    pub class: BounceClass,
    /// The host that refused it.
    pub remote_host: Option<String>,
}

/// What a bounce refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BounceClass {
    /// The address, for good.
    Hard,
    /// The address, without a reason.
    Unclear,
    /// This message, or us.
    Refused,
}

/// Whether the end of an attempt puts its recipient on the suppression list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suppresses {
    /// Not at all.
    Nobody,
    /// At once.
    Now(NewSuppression),
    /// If an earlier message of the account to the same recipient bounced or failed in that span.
    AfterAnotherFailure {
        /// What goes on the list then.
        new: NewSuppression,
        since: Timestamp,
        /// The latest: failures of one disturbance count as one.
        until: Timestamp,
    },
}

/// An address for an account's suppression list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuppression {
    /// Whose list.
    pub account_id: AccountId,
    /// The address in lower case throughout ([`crate::message::address::EmailAddress::folded`]).
    pub address: String,
    pub kind: SuppressionKind,
    /// In the words of whoever put it there.
    pub reason: String,
    /// The message that bounced or was complained about.
    pub message_id: Option<MessageId>,
    /// When it is taken off; none for never.
    pub expires_at: Option<Timestamp>,
}
