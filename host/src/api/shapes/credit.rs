//! Credits: the balance, the ledger, grants.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::credit::{self, Credits};
use crate::id::{AccountId, MessageId};
use crate::store::{AccountRow, LedgerRow};

/// What an account has, and how much it sends.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the member's name in the answer")]
pub struct Balance {
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// The sum of its ledger.
    #[schema(value_type = i64)]
    balance: Credits,
    /// Messages accepted today (UTC).
    sent_today: u64,
    /// Messages accepted in the last 30 days.
    sent_last30_days: u64,
}

/// An entry of the ledger, which is never changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// Why the balance changed.
    kind: EntryKind,
    /// By how much; negative for a debit.
    #[schema(value_type = i64)]
    amount: Credits,
    /// How many messages a debit pays for: all of the account's that one transaction accepted. What one of them cost
    /// stands in the message.
    #[schema(required, nullable)]
    messages: Option<u32>,
    /// The message of a refund.
    #[schema(value_type = Option<String>, required, nullable)]
    message_id: Option<MessageId>,
    /// In the words of whoever granted or corrected.
    #[schema(required, nullable)]
    reason: Option<String>,
    /// When.
    #[schema(format = "date-time")]
    at: String,
}

/// Why a balance changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Credits given or bought.
    Grant,
    /// The price of messages.
    Debit,
    /// The price of a message that never left.
    Refund,
    /// A correction by the operator.
    Adjustment,
}

/// Credits that were granted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// How many.
    #[schema(value_type = i64)]
    granted: Credits,
    /// The balance right after it.
    #[schema(value_type = i64)]
    balance: Credits,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Grant {
    pub fn new(account_id: AccountId, granted: Credits, balance: Credits) -> Self {
        Self { account_id, granted, balance, warnings: Vec::new() }
    }
}

impl From<AccountRow> for Balance {
    fn from(row: AccountRow) -> Self {
        Self {
            account_id: row.account.id,
            balance: row.balance,
            sent_today: row.sent_today,
            sent_last30_days: row.sent_month,
        }
    }
}

impl From<&LedgerRow> for LedgerEntry {
    fn from(row: &LedgerRow) -> Self {
        Self {
            kind: match row.kind {
                credit::EntryKind::Grant => EntryKind::Grant,
                credit::EntryKind::Debit => EntryKind::Debit,
                credit::EntryKind::Refund => EntryKind::Refund,
                credit::EntryKind::Adjustment => EntryKind::Adjustment,
            },
            amount: row.amount,
            messages: row.messages,
            message_id: row.message_id,
            reason: row.reason.clone(),
            at: row.at.rfc3339(),
        }
    }
}

pub type LedgerPage = Page<LedgerEntry>;

impl Listed for LedgerEntry {
    const PAGE: PageDoc = PageDoc {
        name: "LedgerPage",
        about: "Some of the ledger.",
        data: "Newest first.",
        ..PAGED
    };
}
