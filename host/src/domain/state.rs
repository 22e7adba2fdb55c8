//! A sender domain, and what was last judged of it.

use serde::{Deserialize, Serialize};

use super::name::DomainName;
use crate::clock::Timestamp;
use crate::id::{AccountId, DomainId};

/// A sender domain of an account.
#[derive(Debug, Clone)]
pub struct SenderDomain {
    pub id: DomainId,
    /// The account that added the domain.
    pub account_id: AccountId,
    pub name: DomainName,
    /// How it is proven.
    pub kind: DomainKind,
    /// What its owner publishes to prove it.
    pub verification_token: String,
    /// What was last judged.
    pub standing: Standing,
    /// When it was added.
    pub created_at: Timestamp,
}

/// How a domain is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DomainKind {
    /// By its DNS records.
    Dns,
    /// Not at all: its mail can only reach the sandbox inbox.
    Sandbox,
}

/// Where a domain stands between "added" and "verified", and on the way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It was never verified.
    Pending,
    /// It sends.
    Verified,
    /// It was verified, and a record is gone or wrong: it sends until its grace is over.
    Warned,
    /// It was verified and does not send any more.
    Degraded,
    /// It is not checked any more unless somebody asks.
    Failed,
}

/// The last judgement of a domain: the policy's findings under the host's minimum rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub phase: Phase,
    pub since: Timestamp,
    /// Satisfied of required records, in percent.
    pub progress: u8,
    /// What is required and not satisfied, e.g. `DKIM (wx1._domainkey.example.com)`.
    pub missing: Vec<String>,
}

impl Standing {
    /// Whether mail may be sent from the domain: all of it was satisfied, and if it is not any more,
    /// the grace lasts.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.phase.may_send()
    }
}

impl DomainKind {
    /// The word in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DomainKind::Dns => "dns",
            DomainKind::Sandbox => "sandbox",
        }
    }
}

impl Phase {
    pub(super) const ALL: [Self; 5] =
        [Self::Pending, Self::Verified, Self::Warned, Self::Degraded, Self::Failed];

    /// Whether mail may be sent from a domain that stands there.
    #[must_use]
    pub fn may_send(self) -> bool {
        match self {
            Self::Verified | Self::Warned => true,
            Self::Pending | Self::Degraded | Self::Failed => false,
        }
    }

    /// The phases in which mail may be sent from a domain.
    #[must_use]
    pub fn sending() -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| it.may_send()).collect()
    }

    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Warned => "warned",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }

    /// From the word in the database.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
