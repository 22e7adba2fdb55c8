//! Accounts: how they are opened, and what their operator and their holder may change.

use super::{Change, plans};
use crate::account::brand::BrandChanges;
use crate::account::plan::Plan;
use crate::account::{Account, AccountState};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::address::EmailAddress;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{AccountRow, SentLately, Store, StoreError};

/// Characters of an account's name, at most.
const MAX_NAME_CHARS: usize = 200;
/// The highest balance below which an account is told that its credits come to an end: as much as one grant may be.
pub const MAX_CREDITS_LOW: i64 = 1_000_000_000_000;
/// From so many bounces of a thousand on, receivers begin to distrust a sender.
const RISKY_PER_MILLE: u64 = 50;
/// Of fewer messages a share says nothing.
const MIN_RATED_MESSAGES: u64 = 20;

/// An account to open.
#[derive(Debug, Clone)]
pub struct NewAccount {
    pub name: String,
    pub plan: PlanChoice,
    /// The sender where neither request nor template names one.
    pub sender: Option<EmailAddress>,
    /// Whether a send is refused that would leave variables of a template blank.
    pub strict: bool,
}

/// The fields to change; fields left out keep their value.
#[derive(Debug, Clone, Default)]
pub struct AccountChange {
    pub name: Option<String>,
    pub plan: Option<PlanChoice>,
    pub state: Option<AccountState>,
    pub sender: Change<EmailAddress>,
    pub strict: Option<bool>,
    /// The balance below which it gets the event `credits.low`.
    pub credits_low: Change<i64>,
}

/// A plan, and how sure whoever names it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanChoice {
    /// One that is known.
    Known(Plan),
    /// One of the operator's own policy, whether it is known or not.
    Own(Plan),
}

/// Accounts, each with what it has sent lately.
///
/// # Errors
/// The database failed.
pub async fn with_sent_lately(
    store: &Store,
    rows: Vec<AccountRow>,
    now: Timestamp,
) -> Result<Vec<(AccountRow, SentLately)>, StoreError> {
    let ids: Vec<AccountId> = rows.iter().map(|it| it.account.id).collect();
    let sent = store.sent_lately(&ids, now).await?;
    let of = |row: AccountRow| {
        let lately = sent.get(&row.account.id).copied().unwrap_or_default();
        (row, lately)
    };
    Ok(rows.into_iter().map(of).collect())
}

/// Whether so many messages bounce that the server's reputation is at risk.
#[must_use]
pub fn is_risky(sent: SentLately) -> bool {
    sent.accepted >= MIN_RATED_MESSAGES
        && sent.bounced_per_mille().is_some_and(|it| it >= RISKY_PER_MILLE)
}

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the name must be 1 to {MAX_NAME_CHARS} characters {ONE_LINE}")]
    Name,
    #[error("the threshold must be from 0 to {MAX_CREDITS_LOW} credits")]
    CreditsLow,
    /// A plan that is most likely a typing error.
    #[error("the plan `{plan}` is not known: the plan policy knows {}", known.join(", "))]
    UnknownPlan { plan: String, known: Vec<String> },
    #[error(
        "the sender must be at a verified domain of the account, and {0} is none; add the domain to the account, or \
         wait until it is verified"
    )]
    SenderNotVerified(String),
    #[error(
        "this is the account of the key of the request, and suspended nobody could activate it again with that key; \
         use another account's key, or `waxwing account deactivate`"
    )]
    OwnAccount,
    #[error(
        "the account is active, and only a suspended one is deleted, because nobody can undo that: suspend the account \
         first, and see whom it stops"
    )]
    NotSuspended,
    #[error("the account is being deleted; nothing of it can be changed any more")]
    BeingDeleted,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PlanChoice {
    /// A typing error would count as a paid plan: so a plan that no policy names and no account has is one only if
    /// the operator says so.
    pub async fn check(&self, store: Option<&Store>, named: &[String]) -> Result<(), AccountError> {
        let Self::Known(plan) = self else { return Ok(()) };
        let known = plans::known(named);
        if known.contains(&plan.name) {
            return Ok(());
        }
        let is_used = match store {
            Some(store) => store.is_plan_used(&plan.name).await?,
            None => false,
        };
        if is_used {
            return Ok(());
        }
        Err(AccountError::UnknownPlan { plan: plan.name.clone(), known })
    }

    fn plan(self) -> Plan {
        match self {
            Self::Known(plan) | Self::Own(plan) => plan,
        }
    }
}

/// Checks the name of an account: 1 to `MAX_NAME_CHARS` characters on one line, none of which turns the direction of text.
///
/// # Errors
/// The name breaks that rule.
pub fn check_name(name: &str) -> Result<(), AccountError> {
    let is_name =
        !name.trim().is_empty() && name.chars().count() <= MAX_NAME_CHARS && is_one_line(name);
    if is_name { Ok(()) } else { Err(AccountError::Name) }
}

/// Opens an account with a balance of 0. `named` are the plans that the server's plan policy names.
///
/// # Errors
/// Its name or its plan is refused, or the database failed.
pub async fn create(
    store: &Store,
    new: NewAccount,
    brand: &BrandChanges,
    named: &[String],
    now: Timestamp,
) -> Result<AccountRow, AccountError> {
    check_name(&new.name)?;
    new.plan.check(Some(store), named).await?;
    let NewAccount { name, plan, sender, strict } = new;
    let account = Account { sender, strict, ..Account::new(&name, plan.plan(), now) };
    store.create_account(&account).await?;
    if !brand.is_empty() {
        store.change_brand(account.id, brand).await?;
    }
    Ok(store.account(account.id, now).await?)
}

/// Changes an account. Mail that was held back while it was suspended goes on once it is active. `caller` is the
/// account of the key that asks.
///
/// # Errors
/// Its name, its plan or its state is refused, there is no such account, or the database failed.
pub async fn change(
    store: &Store,
    caller: Option<AccountId>,
    id: AccountId,
    change: AccountChange,
    named: &[String],
    now: Timestamp,
) -> Result<AccountRow, AccountError> {
    if let Some(name) = &change.name {
        check_name(name)?;
    }
    if let Some(plan) = &change.plan {
        plan.check(Some(store), named).await?;
    }
    if let Change::Set(low) = change.credits_low
        && !(0..=MAX_CREDITS_LOW).contains(&low)
    {
        return Err(AccountError::CreditsLow);
    }
    if caller == Some(id) && change.state == Some(AccountState::Suspended) {
        return Err(AccountError::OwnAccount);
    }
    let is_activated = change.state == Some(AccountState::Active);
    let row = store
        .change_account(id, now, |account| match account.state {
            AccountState::Active | AccountState::Suspended => change.clone().of(account),
            AccountState::Deleting => account,
        })
        .await?;
    if row.account.state == AccountState::Deleting {
        return Err(AccountError::BeingDeleted);
    }
    if is_activated {
        store.requeue_of_account(id).await?;
    }
    Ok(row)
}

/// Orders the deletion of a suspended account with all that is its own. From now on nothing of it is sent, shown or
/// changed; `upkeep/account_deletion` does the work, also after a restart. A second order changes nothing.
///
/// # Errors
/// The account is active, there is no such account, or the database failed.
pub async fn delete(
    store: &Store,
    id: AccountId,
    now: Timestamp,
) -> Result<AccountRow, AccountError> {
    let row = store
        .change_account(id, now, |account| match account.state {
            AccountState::Suspended => Account { state: AccountState::Deleting, ..account },
            AccountState::Active | AccountState::Deleting => account,
        })
        .await?;
    match row.account.state {
        AccountState::Deleting => Ok(row),
        AccountState::Active | AccountState::Suspended => Err(AccountError::NotSuspended),
    }
}

/// Whether an account may send by that address when nobody names another one.
///
/// # Errors
/// Its domain is none of the account's, or is not verified.
pub async fn check_sender(
    store: &Store,
    account: AccountId,
    sender: &EmailAddress,
) -> Result<(), AccountError> {
    let refused = || AccountError::SenderNotVerified(sender.host().to_owned());
    let domain = sender.domain().ok_or_else(refused)?;
    let row = store.domain_named(account, domain).await?;
    if row.is_some_and(|it| it.domain.standing.may_send()) { Ok(()) } else { Err(refused()) }
}

impl AccountChange {
    fn of(self, account: Account) -> Account {
        Account {
            name: self.name.unwrap_or(account.name),
            plan: self.plan.map_or(account.plan, PlanChoice::plan),
            state: self.state.unwrap_or(account.state),
            sender: self.sender.of(account.sender),
            strict: self.strict.unwrap_or(account.strict),
            credits_low: self.credits_low.of(account.credits_low),
            ..account
        }
    }
}
