//! `waxwing suppression`.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::{note_act, text};
use crate::api::shapes::{DeletedSuppression, Suppression};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::management::acts;
use crate::message::address::EmailAddress;
use crate::store::StoreError;
use crate::store::records::{NewSuppression, SuppressionKind};

const PAGE_ROWS: u32 = 500;

/// Addresses that an account sends nothing more to.
#[derive(Debug, Subcommand)]
pub enum SuppressionCommand {
    /// Put an address on the list
    Add {
        #[command(flatten)]
        which: Which,
        /// Why
        #[arg(long, default_value = "by the operator")]
        reason: String,
        /// When the entry expires, RFC 3339 [default: never]
        #[arg(long, value_parser = super::key::moment)]
        expires: Option<Timestamp>,
        #[command(flatten)]
        target: Target,
    },
    /// List the addresses
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// Only those of one kind
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// Addresses to show
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only those behind this one
        #[arg(long)]
        after: Option<EmailAddress>,
        #[command(flatten)]
        target: Target,
    },
    /// Show why an address is on the list
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
    /// Take an address off the list: the next message to it is sent
    Remove {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
}

/// One address.
#[derive(Debug, Args)]
pub struct Which {
    /// `acc_…`
    #[arg(long)]
    account: AccountId,
    /// The address; letter case does not matter
    address: EmailAddress,
}

/// Why an address is on the list.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    /// It does not take mail for good
    Bounce,
    /// Its holder has called a message spam
    Complaint,
    /// Somebody has put it there
    Manual,
}

pub async fn run(command: SuppressionCommand) -> Result<(), CliError> {
    match command {
        SuppressionCommand::Add { which, reason, expires, target } => {
            let opened = known(&target, which.account).await?;
            let now = opened.clock.now();
            if expires.is_some_and(|it| it <= now) {
                return Err(CliError::Usage("--expires must be a moment to come".to_owned()));
            }
            let new = NewSuppression {
                account_id: which.account,
                address: which.address.folded(),
                kind: SuppressionKind::Manual,
                reason,
                message_id: None,
                expires_at: expires,
            };
            opened.store.suppress(&new, now).await?;
            note_act(acts::suppressed(which.account, std::slice::from_ref(&new.address)));
            show(&opened, &which, &target).await?;
        }
        SuppressionCommand::List { account, kind, limit, after, target } => {
            let opened = known(&target, account).await?;
            let after = after.map(|it| it.folded());
            let values =
                list(&opened, account, kind.map(SuppressionKind::from), after, limit).await?;
            target.output.list(&values, line);
        }
        SuppressionCommand::Show { which, target } => {
            let opened = known(&target, which.account).await?;
            show(&opened, &which, &target).await?;
        }
        SuppressionCommand::Remove { which, target } => {
            let opened = known(&target, which.account).await?;
            let (address, now) = (which.address.folded(), opened.clock.now());
            if !opened.store.unsuppress(which.account, &address, now).await? {
                return Err(none(&which).into());
            }
            note_act(acts::unsuppressed(which.account, &address));
            let gone = DeletedSuppression { address: address.clone(), deleted: true, undo: None };
            target.output.one(&json!(gone), || format!("{address} is off the list"));
        }
    }
    Ok(())
}

/// The store, which has the account.
async fn known(target: &Target, account: AccountId) -> Result<Opened, CliError> {
    let opened = target.open().await?;
    opened.store.account(account, opened.clock.now()).await?;
    Ok(opened)
}

async fn list(
    opened: &Opened,
    account: AccountId,
    kind: Option<SuppressionKind>,
    mut after: Option<String>,
    limit: u32,
) -> Result<Vec<Value>, StoreError> {
    let (mut values, mut left, now) = (Vec::new(), limit, opened.clock.now());
    while left > 0 {
        let size = left.min(PAGE_ROWS);
        let page = opened.store.suppressions(account, kind, after.as_deref(), size, now).await?;
        left = left.saturating_sub(u32::try_from(page.suppressions.len()).unwrap_or(u32::MAX));
        values.extend(page.suppressions.into_iter().map(|row| json!(Suppression::from(row))));
        if page.next.is_none() {
            break;
        }
        after = page.next;
    }
    Ok(values)
}

async fn show(opened: &Opened, which: &Which, target: &Target) -> Result<(), CliError> {
    let (address, now) = (which.address.folded(), opened.clock.now());
    let row = opened.store.suppression(which.account, &address, now).await?;
    let value = json!(Suppression::from(row.ok_or_else(|| none(which))?));
    target.output.one(&value, || line(&value));
    Ok(())
}

fn none(which: &Which) -> StoreError {
    StoreError::Missing { noun: "suppression", name: which.address.to_string() }
}

fn line(value: &Value) -> String {
    let [address, kind, created, reason] =
        ["address", "kind", "createdAt", "reason"].map(|it| text(value, it));
    let until = value["expiresAt"].as_str().map(|it| format!("  (until {it})"));
    format!("{address}  {kind}  {created}  {reason}{}", until.unwrap_or_default())
}

impl From<Kind> for SuppressionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Bounce => Self::Bounce,
            Kind::Complaint => Self::Complaint,
            Kind::Manual => Self::Manual,
        }
    }
}
