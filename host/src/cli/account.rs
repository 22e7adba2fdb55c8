//! `waxwing account`.

mod brand;

use std::num::ParseIntError;
use std::str::FromStr;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::{Output, note_act, text};
use crate::account::AccountState;
use crate::account::plan::Plan;
use crate::api::shapes;
use crate::id::AccountId;
use crate::management::accounts::{self, AccountChange, NewAccount, PlanChoice};
use crate::management::{Change, acts};
use crate::message::address::EmailAddress;
use crate::people::MAX_MEMBERS;
use crate::plural::plural;
use crate::store::AccountRow;

/// Open, list, show, change and delete accounts.
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
    /// Change the name, the plan, the default sender, the strictness or the low-credits threshold of an account
    Update {
        /// `acc_…`
        id: AccountId,
        /// What a person calls it
        #[arg(long)]
        name: Option<String>,
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
        /// The balance below which the event `credits.low` is written; `default` for the server's own
        #[arg(long, value_name = "CREDITS")]
        credits_low: Option<Threshold>,
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
    /// Delete a suspended account with all that is its own: mail, keys, domains, templates, people. Nobody can undo it
    #[command(
        after_help = "The account is suspended first, with `waxwing account deactivate`. A running server deletes it in \
                            the background, also over a restart; `waxwing account show` shows it until it is gone.
Backups that were made before still have it."
    )]
    Delete {
        /// `acc_…`
        id: AccountId,
        /// You mean it; without this the command deletes nothing and says what it would delete
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        target: Target,
    },
}

/// A number of credits, or `default`.
#[derive(Debug, Clone)]
pub struct Threshold(Change<i64>);

impl FromStr for Threshold {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        if text == "default" {
            return Ok(Self(Change::Clear));
        }
        text.parse().map(|it| Self(Change::Set(it)))
    }
}

pub async fn run(command: AccountCommand) -> Result<(), CliError> {
    match command {
        AccountCommand::Create { name, plan, own_plan, sender, strict, brand, target } => {
            let changes = brand.changes()?;
            accounts::check_name(&name)?;
            let plan = choice(plan, own_plan);
            // Before a new store is made: a typing error leaves none behind.
            match target.open().await {
                Ok(_) => {}
                Err(CliError::NoStore(_)) => plan.check(None, &[]).await?,
                Err(error) => return Err(error),
            }
            let opened = target.open_or_make().await?;
            let new = NewAccount { name, plan, sender, strict };
            let now = opened.clock.now();
            let row = accounts::create(&opened.store, new, &changes, &[], now).await?;
            show(row, &opened, target.output).await
        }
        AccountCommand::List { target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            let rows = opened.store.accounts(now).await?;
            let rows = accounts::with_sent_lately(&opened.store, rows, now).await?;
            let rows = rows.into_iter().map(|(row, sent)| json!(shapes::Account::new(row, sent)));
            target.output.list(&rows.collect::<Vec<_>>(), line);
            Ok(())
        }
        AccountCommand::Show { id, target } => {
            let opened = target.open().await?;
            let row = opened.store.account(id, opened.clock.now()).await?;
            show(row, &opened, target.output).await
        }
        AccountCommand::Brand(command) => command.run().await,
        AccountCommand::Update {
            id,
            name,
            plan,
            own_plan,
            sender,
            strict,
            credits_low,
            target,
        } => {
            let plan = plan.map(|plan| choice(plan, own_plan));
            let sender = sender.map_or(Change::Keep, Change::Set);
            let credits_low = credits_low.map_or(Change::Keep, |it| it.0);
            let wanted = AccountChange { name, plan, sender, strict, credits_low, state: None };
            change(id, &target, wanted).await
        }
        AccountCommand::Deactivate { id, target } => {
            let state = Some(AccountState::Suspended);
            change(id, &target, AccountChange { state, ..AccountChange::default() }).await
        }
        AccountCommand::Activate { id, target } => {
            let state = Some(AccountState::Active);
            change(id, &target, AccountChange { state, ..AccountChange::default() }).await
        }
        AccountCommand::Delete { id, yes: true, target } => delete(id, &target).await,
        AccountCommand::Delete { id, yes: false, target } => {
            Err(would_delete(id, &target.open().await?).await?)
        }
    }
}

async fn delete(id: AccountId, target: &Target) -> Result<(), CliError> {
    let opened = target.open().await?;
    let now = opened.clock.now();
    let row = accounts::delete(&opened.store, id, now).await?;
    let rows = accounts::with_sent_lately(&opened.store, vec![row], now).await?;
    for (row, sent) in rows {
        let value = json!(shapes::Account::new(row, sent));
        target.output.one(&value, || {
            let line = line(&value);
            format!(
                "{line}\na running server deletes it in the background; `waxwing account show {id}` shows it until it is gone"
            )
        });
    }
    Ok(())
}

/// What is said instead of a deletion that nobody has confirmed.
async fn would_delete(id: AccountId, opened: &Opened) -> Result<CliError, CliError> {
    let row = opened.store.account(id, opened.clock.now()).await?;
    let people = opened.store.members(id, None, MAX_MEMBERS).await?.len();
    let sent = row.sent_month;
    Ok(CliError::Usage(format!(
        "nothing was deleted: `{}` ({id}) is {}, sent {sent} {} in the last 30 days, and has {people} {} and a balance of \
         {}. All of it would be gone for ever; `waxwing export --account {id} --to FILE` keeps a copy. To delete it, add \
         --yes",
        row.account.name,
        row.account.state.as_str(),
        plural(sent, "message", "messages"),
        plural(people, "person", "people"),
        row.balance.0,
    )))
}

fn choice(plan: Plan, own_plan: bool) -> PlanChoice {
    if own_plan { PlanChoice::Own(plan) } else { PlanChoice::Known(plan) }
}

async fn change(id: AccountId, target: &Target, change: AccountChange) -> Result<(), CliError> {
    let opened = target.open().await?;
    let now = opened.clock.now();
    let act = acts::account_changed(id, &change);
    let row = accounts::change(&opened.store, None, id, change, &[], now).await?;
    note_act(act);
    show(row, &opened, target.output).await
}

async fn show(row: AccountRow, opened: &Opened, output: Output) -> Result<(), CliError> {
    let rows = accounts::with_sent_lately(&opened.store, vec![row], opened.clock.now()).await?;
    for (row, sent) in rows {
        let value = json!(shapes::Account::new(row, sent));
        output.one(&value, || line(&value));
    }
    Ok(())
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
