//! `waxwing domain`.

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{Output, text};
use crate::domain::name::DomainName;
use crate::domain::state::DomainKind;
use crate::id::AccountId;
use crate::store::StoreError;
use crate::store::sqlite::DomainRow;
use crate::upkeep::verify_domains;

/// Add, list and show sender domains.
#[derive(Debug, Subcommand)]
pub enum DomainCommand {
    /// Add a sender domain and show the records to publish
    Add {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// As in example.com
        name: DomainName,
        /// Count it as verified; its mail can only reach the sandbox inbox
        #[arg(long)]
        sandbox: bool,
        #[command(flatten)]
        target: Target,
    },
    /// List the sender domains of an account
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        #[command(flatten)]
        target: Target,
    },
    /// Show a sender domain with its records
    Show {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// As in example.com
        name: DomainName,
        #[command(flatten)]
        target: Target,
    },
}

/// Runs it.
pub async fn run(command: DomainCommand) -> Result<(), CliError> {
    match command {
        DomainCommand::Add { account, name, sandbox, target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            let account = opened.store.account(account, now).await?.account;
            let known = opened.store.domains(account.id).await?;
            if known.iter().any(|row| row.domain.name == name) {
                let name = name.to_string();
                return Err(StoreError::Exists { noun: "domain", name }.into());
            }
            let kind = if sandbox { DomainKind::Sandbox } else { DomainKind::Dns };
            let plugins = opened.plugins().await?;
            let row = verify_domains::add(&plugins, &account, name, kind, now).await?;
            opened.store.put_domain(&row, now).await?;
            show(&row, target.output);
        }
        DomainCommand::List { account, target } => {
            let rows = target.open().await?.store.domains(account).await?;
            target.output.list(&rows.iter().map(to_json).collect::<Vec<_>>(), line);
        }
        DomainCommand::Show { account, name, target } => {
            let rows = target.open().await?.store.domains(account).await?;
            let row = rows
                .into_iter()
                .find(|row| row.domain.name == name)
                .ok_or_else(|| StoreError::Missing { noun: "domain", name: name.to_string() })?;
            show(&row, target.output);
        }
    }
    Ok(())
}

fn show(row: &DomainRow, output: Output) {
    let value = to_json(row);
    output.one(&value, || {
        let records = row.requirements.as_array().map(Vec::as_slice).unwrap_or_default();
        let record = |it: &Value| {
            let needed = if it["required"] == true { "required" } else { "advised" };
            let (name, value) = (text(it, "name"), text(it, "value"));
            format!("  {needed}  {} {name}\n            {value}", text(it, "type"))
        };
        let records: Vec<String> = records.iter().map(record).collect();
        format!("{}\n{}", line(&value), records.join("\n"))
    });
}

fn to_json(row: &DomainRow) -> Value {
    let domain = &row.domain;
    json!({
        "id": domain.id,
        "accountId": domain.account_id,
        "name": domain.name,
        "kind": domain.kind,
        "verified": domain.standing.is_verified(),
        "progress": domain.standing.progress,
        "missing": domain.standing.missing,
        "records": row.requirements,
        "decision": row.decision,
        "createdAt": domain.created_at.rfc3339(),
    })
}

fn line(value: &Value) -> String {
    let (id, name, progress) = (text(value, "id"), text(value, "name"), text(value, "progress"));
    format!("{id}  {name}  {progress}% verified")
}
