//! Accounts.

use serde::Serialize;
use utoipa::ToSchema;

use super::Brand;
use super::page::{Listed, PAGED, Page, PageDoc};
use crate::account::plan::Billing;
use crate::account::{self, AccountState as State};
use crate::credit::Credits;
use crate::id::AccountId;
use crate::management::accounts::is_risky;
use crate::store::{AccountRow, SentLately};

/// An account.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// `acc_…`
    #[schema(value_type = String)]
    id: AccountId,
    /// What a person calls it.
    name: String,
    /// Its plan.
    plan: String,
    /// Whether the plan is paid for; `free` is the only one that is not.
    paid: bool,
    /// Whether it may send.
    state: AccountState,
    /// The sender where neither request nor template names one.
    #[schema(required, nullable)]
    sender: Option<String>,
    /// Whether a send is refused that would leave a variable of a template blank.
    strict: bool,
    /// The balance below which the event `credits.low` is written; null for the server's own `[credits] low`.
    #[schema(required, nullable)]
    credits_low: Option<i64>,
    /// What its templates are offered as defaults.
    brand: Brand,
    /// Its credits.
    #[schema(value_type = i64)]
    balance: Credits,
    /// Messages accepted today (UTC).
    sent_today: u64,
    /// Messages accepted in the last 30 days.
    sent_last30_days: u64,
    /// What became of the messages of the last seven days.
    last7_days: RecentSends,
    /// When it was opened.
    #[schema(format = "date-time")]
    created_at: String,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What an account has sent in the last seven days.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentSends {
    /// Messages that were accepted.
    accepted: u64,
    /// Messages that bounced.
    bounced: u64,
    /// How many of a thousand accepted messages bounced, rounded; none where nothing was accepted.
    #[schema(required, nullable)]
    bounced_per_mille: Option<u64>,
    /// Whether so many bounce that receivers begin to distrust the server: 50 of a thousand, of 20 messages or more.
    risky: bool,
}

/// Whether an account may send.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccountState {
    /// It may.
    Active,
    /// The operator has stopped it: every request with one of its keys is refused.
    Suspended,
    /// The operator has ordered the deletion of the account. Nothing of the account is sent, shown or changed any more,
    /// and its rows are being removed; when all are gone, the account is not found.
    Deleting,
}

impl Account {
    /// The account with what it has sent lately.
    pub fn new(row: AccountRow, sent: SentLately) -> Self {
        let account::Account {
            id,
            name,
            plan,
            state,
            sender,
            brand,
            strict,
            credits_low,
            created_at,
        } = row.account;
        Self {
            id,
            name,
            paid: plan.billing == Billing::Paid,
            plan: plan.name,
            state: match state {
                State::Active => AccountState::Active,
                State::Suspended => AccountState::Suspended,
                State::Deleting => AccountState::Deleting,
            },
            sender: sender.map(|it| it.to_string()),
            strict,
            credits_low,
            brand: Brand::from(&brand),
            balance: row.balance,
            sent_today: row.sent_today,
            sent_last30_days: row.sent_month,
            last7_days: RecentSends {
                accepted: sent.accepted,
                bounced: sent.bounced,
                bounced_per_mille: sent.bounced_per_mille(),
                risky: is_risky(sent),
            },
            created_at: created_at.rfc3339(),
            warnings: Vec::new(),
        }
    }
}

pub type AccountPage = Page<Account>;

impl Listed for Account {
    const PAGE: PageDoc = PageDoc {
        name: "AccountPage",
        about: "Some of the accounts.",
        data: "In the order of their opening.",
        ..PAGED
    };
}
