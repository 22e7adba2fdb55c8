//! An account: who sends, on which plan, with which keys.

pub mod brand;
pub mod idempotency;
pub mod ip_network;
pub mod key;
pub mod plan;
pub mod role;
pub mod secret;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::address::EmailAddress;
use brand::Brand;
use plan::Plan;

/// A tenant of the server: it sends mail on a plan and pays with credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    /// What a person calls it.
    pub name: String,
    /// What it may send.
    pub plan: Plan,
    /// Active, suspended by the operator, or being deleted.
    pub state: AccountState,
    /// The sender where neither the request nor the template names one.
    pub sender: Option<EmailAddress>,
    /// What its templates are offered as defaults.
    pub brand: Brand,
    /// Whether a send is refused that would leave variables of a template blank.
    pub strict: bool,
    /// The balance below which it gets the event `credits.low`; none for the server's own threshold.
    pub credits_low: Option<i64>,
    /// When it was opened.
    pub created_at: Timestamp,
}

impl Account {
    /// An account as it is opened: active, with nothing set.
    #[must_use]
    pub fn new(name: &str, plan: Plan, now: Timestamp) -> Self {
        Self {
            id: AccountId::new(now),
            name: name.to_owned(),
            plan,
            state: AccountState::Active,
            sender: None,
            brand: Brand::default(),
            strict: false,
            credits_low: None,
            created_at: now,
        }
    }
}

/// Whether an account's keys work and its mail is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountState {
    /// Its keys work within their scopes.
    Active,
    /// The operator has suspended it: its keys are refused, and its queued mail waits. No plugin can lift that.
    Suspended,
    /// The operator has ordered the deletion of the account, which nobody can stop. Nothing of the account is sent, shown or
    /// changed any more.
    Deleting,
}

impl AccountState {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deleting => "deleting",
        }
    }

    /// The state of that word in the database.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        let known = [Self::Active, Self::Suspended, Self::Deleting];
        known.into_iter().find(|it| it.as_str() == word)
    }
}

/// The word names no state that a change can give an account. `deleting` is none: a deletion is an operation of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be active or suspended")]
pub struct UnknownState;

impl FromStr for AccountState {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        let given = [Self::Active, Self::Suspended].into_iter();
        given.clone().find(|it| it.as_str() == word).ok_or(UnknownState)
    }
}
