//! `waxwing credits`.

use clap::Subcommand;
use serde_json::json;

use super::error::CliError;
use super::open::Target;
use super::output::note_act;
use crate::api::shapes::{Grant, LedgerEntry};
use crate::credit::Credits;
use crate::id::AccountId;
use crate::management::acts;
use crate::management::credits::{self, GrantRequest};
use crate::store::LedgerRow;

/// Grant credits, show balance and ledger.
#[derive(Debug, Subcommand)]
pub enum CreditsCommand {
    /// Give credits to an account
    Grant {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// How many, from 1
        amount: i64,
        /// Why; stands in the ledger
        #[arg(long, default_value = credits::NO_REASON)]
        reason: String,
        #[command(flatten)]
        target: Target,
    },
    /// Show the balance and the newest entries of the ledger. A debit pays for all messages of the account that one
    /// transaction accepted; what a message cost stands in the message
    Show {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// Entries to show
        #[arg(long, default_value_t = 20)]
        limit: u32,
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: CreditsCommand) -> Result<(), CliError> {
    match command {
        CreditsCommand::Grant { account, amount, reason, target } => {
            let opened = target.open().await?;
            let request = GrantRequest { account, amount, reason, idempotency: None };
            let balance = credits::grant(&opened.store, request, opened.clock.now()).await?.balance;
            note_act(acts::granted(account, Credits(amount)));
            let value = json!(Grant::new(account, Credits(amount), balance));
            target.output.one(&value, || format!("{account}  +{amount}  balance {}", balance.0));
        }
        CreditsCommand::Show { account, limit, target } => {
            let opened = target.open().await?;
            let row = opened.store.account(account, opened.clock.now()).await?;
            let ledger = opened.store.ledger(account, limit).await?;
            let entries = ledger.iter().map(LedgerEntry::from);
            let value = json!({"accountId": account, "balance": row.balance,
                "ledger": entries.collect::<Vec<_>>()});
            target.output.one(&value, || {
                let entries: Vec<String> = ledger.iter().map(entry).collect();
                format!("{account}  balance {}\n{}", row.balance.0, entries.join("\n"))
            });
        }
    }
    Ok(())
}

fn entry(row: &LedgerRow) -> String {
    let messages = match row.messages {
        Some(1) => " of 1 message".to_owned(),
        Some(messages) => format!(" of {messages} messages"),
        None => String::new(),
    };
    format!("  {}  {:>8}  {}{messages}", row.at, row.amount.0, row.kind.as_str())
}
