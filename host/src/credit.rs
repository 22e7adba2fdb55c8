//! Credits: whole numbers in an append-only ledger. The balance is the ledger's sum at all times.

use serde::{Deserialize, Serialize};

/// An amount of credits.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Credits(pub i64);

/// Why the ledger changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Credits given or bought.
    Grant,
    /// The price of a message.
    Debit,
    /// The price of a message that never left, refunded once.
    Refund,
    /// A correction by the operator.
    Adjustment,
}

impl EntryKind {
    /// The word in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            EntryKind::Grant => "grant",
            EntryKind::Debit => "debit",
            EntryKind::Refund => "refund",
            EntryKind::Adjustment => "adjustment",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Grant, Self::Debit, Self::Refund, Self::Adjustment]
            .into_iter()
            .find(|it| it.as_str() == word)
    }
}
