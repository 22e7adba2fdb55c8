//! How far a domain's verification has come.

use serde::{Deserialize, Serialize};

use super::name::DomainName;
use crate::clock::Timestamp;
use crate::id::{AccountId, DomainId};

/// A sender domain of an account.
#[derive(Debug, Clone)]
pub struct SenderDomain {
    /// Its identifier.
    pub id: DomainId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name.
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

/// The last judgement of a domain: the policy's findings under the host's floors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Satisfied of required records, in percent; only 100 sends.
    pub progress: u8,
    /// What is required and not satisfied, e.g. `DKIM`.
    pub missing: Vec<String>,
}

impl Standing {
    /// Whether mail may be sent from the domain.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.progress == 100
    }
}

impl DomainKind {
    /// The word in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            DomainKind::Dns => "dns",
            DomainKind::Sandbox => "sandbox",
        }
    }
}
