//! `waxwing message`.

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{decided, text};
use crate::id::{AccountId, MessageId};
use crate::message::address::EmailAddress;

/// List and show messages; suppress an address.
#[derive(Debug, Subcommand)]
pub enum MessageCommand {
    /// List the newest messages of an account
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// Messages to show
        #[arg(long, default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        target: Target,
    },
    /// Show a message with its events and what each plugin decided
    Show {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// Put an address on an account's suppression list: nothing more is sent to it
    Suppress {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// The address
        address: EmailAddress,
        /// Why
        #[arg(long, default_value = "by the operator")]
        reason: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Runs it.
pub async fn run(command: MessageCommand) -> Result<(), CliError> {
    match command {
        MessageCommand::List { account, limit, target } => {
            let rows = target.open().await?.store.messages(account, limit).await?;
            let values: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
            target.output.list(&values, line);
        }
        MessageCommand::Show { id, target } => {
            let row = target.open().await?.store.message(id).await?;
            let value = json!(row);
            target.output.one(&value, || {
                let events = row
                    .events
                    .iter()
                    .map(|it| format!("  {}  {}  {}", it.at, it.r#type, it.detail));
                let decisions = value["decisions"].as_array().map(Vec::as_slice);
                let decisions = decisions.unwrap_or_default().iter().map(decided);
                let lines = std::iter::once(line(&value)).chain(events).chain(decisions);
                lines.collect::<Vec<_>>().join("\n")
            });
        }
        MessageCommand::Suppress { account, address, reason, target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            opened.store.account(account, now).await?;
            opened.store.suppress(account, &address.folded(), &reason, now).await?;
            let value = json!({"accountId": account, "address": address, "reason": reason});
            target.output.one(&value, || format!("{address}  suppressed"));
        }
    }
    Ok(())
}

fn line(value: &Value) -> String {
    format!(
        "{}  {}  {}  {}",
        text(value, "id"),
        text(value, "state"),
        text(value, "to"),
        text(value, "subject"),
    )
}
