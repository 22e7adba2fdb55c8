//! `waxwing account`.

mod brand;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{Output, text};
use crate::account::plan::{Billing, Plan};
use crate::account::{Account, AccountState};
use crate::api::shapes::Brand;
use crate::id::AccountId;
use crate::message::address::EmailAddress;
use crate::store::AccountRow;

/// Open, list, show and change accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Open an account with a balance of 0
    Create {
        /// What a person calls it
        #[arg(long)]
        name: String,
        /// Its plan; `free` is the only one that is not paid for
        #[arg(long, default_value = "free")]
        plan: Plan,
        /// The plan is one of your own plan policy, which the built-in one does not know
        #[arg(long)]
        own_plan: bool,
        /// The sender where neither request nor template names one
        #[arg(long)]
        sender: Option<EmailAddress>,
        /// Refuse every send that would leave a variable of a template blank
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        brand: Box<brand::Values>,
        #[command(flatten)]
        target: Target,
    },
    /// List all accounts
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Show an account
    Show {
        /// `acc_…`
        id: AccountId,
        #[command(flatten)]
        target: Target,
    },
    /// Change the plan, the default sender or the strictness of an account
    Update {
        /// `acc_…`
        id: AccountId,
        /// Its plan
        #[arg(long)]
        plan: Option<Plan>,
        /// The plan is one of your own plan policy, which the built-in one does not know
        #[arg(long, requires = "plan")]
        own_plan: bool,
        /// Its default sender
        #[arg(long)]
        sender: Option<EmailAddress>,
        /// Whether a send is refused that would leave a variable of a template blank
        #[arg(long, value_name = "BOOL")]
        strict: Option<bool>,
        #[command(flatten)]
        target: Target,
    },
    /// Show or change what the templates of an account are offered as defaults: name, address, colour
    Brand(brand::BrandCommand),
    /// Stop an account: every send is refused
    Deactivate {
        /// `acc_…`
        id: AccountId,
        #[command(flatten)]
        target: Target,
    },
    /// Let a stopped account send again
    Activate {
        /// `acc_…`
        id: AccountId,
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: AccountCommand) -> Result<(), CliError> {
    match command {
        AccountCommand::Create { name, plan, own_plan, sender, strict, brand, target } => {
            let changes = brand.changes()?;
            if !own_plan {
                refuse_unknown(&plan, &target).await?;
            }
            let opened = target.open_or_make().await?;
            let now = opened.clock.now();
            let account = Account { sender, strict, ..Account::new(&name, plan, now) };
            opened.store.create_account(&account).await?;
            if !changes.is_empty() {
                opened.store.change_brand(account.id, &changes).await?;
            }
            show(&opened.store.account(account.id, now).await?, target.output);
            Ok(())
        }
        AccountCommand::List { target } => {
            let opened = target.open().await?;
            let rows = opened.store.accounts(opened.clock.now()).await?;
            target.output.list(&rows.iter().map(to_json).collect::<Vec<_>>(), line);
            Ok(())
        }
        AccountCommand::Show { id, target } => change(id, &target, |_| {}).await,
        AccountCommand::Brand(command) => command.run().await,
        AccountCommand::Update { id, plan, own_plan, sender, strict, target } => {
            if let Some(plan) = plan.as_ref().filter(|_| !own_plan) {
                refuse_unknown(plan, &target).await?;
            }
            change(id, &target, |account| {
                if let Some(plan) = plan {
                    account.plan = plan;
                }
                if sender.is_some() {
                    account.sender = sender;
                }
                account.strict = strict.unwrap_or(account.strict);
            })
            .await
        }
        AccountCommand::Deactivate { id, target } => {
            change(id, &target, |it| it.state = AccountState::Suspended).await
        }
        AccountCommand::Activate { id, target } => {
            change(id, &target, |it| it.state = AccountState::Active).await
        }
    }
}

/// A typing error would count as a paid plan, so a plan that no account has and the built-in policy
/// does not know is one only if the operator says so.
async fn refuse_unknown(plan: &Plan, target: &Target) -> Result<(), CliError> {
    let Some(known) = plan.unlike() else { return Ok(()) };
    let is_used = match target.open().await {
        Ok(opened) => {
            let accounts = opened.store.accounts(opened.clock.now()).await?;
            accounts.iter().any(|row| row.account.plan == *plan)
        }
        Err(CliError::NoStore(_)) => false,
        Err(error) => return Err(error),
    };
    if is_used {
        return Ok(());
    }
    Err(CliError::UnknownPlan { plan: plan.name.clone(), known: known.join(", ") })
}

async fn change(
    id: AccountId,
    target: &Target,
    change: impl FnOnce(&mut Account),
) -> Result<(), CliError> {
    let opened = target.open().await?;
    let mut row = opened.store.account(id, opened.clock.now()).await?;
    let before = row.account.clone();
    change(&mut row.account);
    if row.account != before {
        opened.store.update_account(&row.account).await?;
        if row.account.state == AccountState::Active {
            opened.store.requeue_of_account(id).await?;
        }
    }
    show(&row, target.output);
    Ok(())
}

fn show(row: &AccountRow, output: Output) {
    let value = to_json(row);
    output.one(&value, || line(&value));
}

fn to_json(row: &AccountRow) -> Value {
    let account = &row.account;
    json!({
        "id": account.id,
        "name": account.name,
        "plan": account.plan.name,
        "paid": account.plan.billing == Billing::Paid,
        "state": account.state,
        "sender": account.sender,
        "strict": account.strict,
        "brand": Brand::from(&account.brand),
        "balance": row.balance,
        "sentToday": row.sent_today,
        "sentLast30Days": row.sent_month,
        "createdAt": account.created_at.rfc3339(),
    })
}

fn line(value: &Value) -> String {
    format!(
        "{}  {}  plan {}  {}  {} credits",
        text(value, "id"),
        text(value, "name"),
        text(value, "plan"),
        text(value, "state"),
        text(value, "balance"),
    )
}
