//! `waxwing domain`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::{Output, text};
use crate::api::shapes::{DeletedDomain, Domain, DomainSummary};
use crate::domain::look_alike::LookAlikes;
use crate::domain::name::DomainName;
use crate::domain::state::DomainKind;
use crate::id::AccountId;
use crate::server::zone_file;
use crate::store::DomainDetails;
use crate::store::StoreError;
use crate::upkeep::verify_domains::DomainCheckSettings;

const SHOWN_EVENTS: u32 = 50;

/// Add sender domains, see what to publish, look at DNS, rotate keys.
#[derive(Debug, Subcommand)]
pub enum DomainCommand {
    /// Add a sender domain, make its DKIM keys and show the records to publish
    Add {
        #[command(flatten)]
        which: Which,
        /// Count it as verified; its mail can only reach the sandbox inbox
        #[arg(long)]
        sandbox: bool,
        /// Although it looks like a domain of another account, or mixes scripts; also for one that the
        /// account has already
        #[arg(long)]
        allow_look_alike: bool,
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
    /// Show the records to publish, and what was seen of them
    Records {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
    /// Show all that is known of a sender domain
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
    /// Look at DNS now
    Check {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
    /// Begin a rotation of the DKIM keys: new records to publish beside the old ones
    Rotate {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
    /// Remove a sender domain and its keys; mail from it that still waits fails
    Delete {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        target: Target,
    },
}

/// One domain.
#[derive(Debug, Args)]
pub struct Which {
    /// `acc_…`
    #[arg(long)]
    account: AccountId,
    /// As in example.com
    name: DomainName,
}

pub async fn run(command: DomainCommand) -> Result<(), CliError> {
    match command {
        DomainCommand::Add { which, sandbox, allow_look_alike, target } => {
            let opened = target.open().await?;
            let account = opened.store.account(which.account, opened.clock.now()).await?.account;
            let verifier = opened.verifier().await?;
            let kind = if sandbox { DomainKind::Sandbox } else { DomainKind::Dns };
            let look_alikes =
                if allow_look_alike { LookAlikes::Allowed } else { LookAlikes::Refused };
            let known = opened.store.domain_named(account.id, &which.name).await?;
            match known {
                Some(known) if allow_look_alike => {
                    let (id, now) = (known.domain.id, opened.clock.now());
                    opened.store.allow_look_alike(id, now).await?;
                }
                Some(_) | None => {
                    verifier.add(&account, which.name.clone(), kind, look_alikes).await?;
                }
            }
            let host = &verifier.rules.return_path_host;
            if !sandbox && host.strip_prefix("bounce.").is_some_and(|it| !it.contains('.')) {
                let set =
                    "set smtp.hostname to the server's public name, or domains.return_path_host";
                tracing::warn!(
                    host,
                    advice = set,
                    "the records name a host that public DNS cannot resolve"
                );
            }
            let details = find(&opened, &which).await?;
            show(&opened, &verifier.rules, details, target.output).await?;
        }
        DomainCommand::List { account, target } => {
            let opened = target.open().await?;
            let rows = opened.store.domains(account, None, u32::MAX >> 1).await?;
            let rules = opened.domain_check_settings();
            let rows = rows.iter().map(|row| json!(DomainSummary::new(row, &rules)));
            let rows: Vec<Value> = rows.collect();
            target.output.list(&rows, line);
        }
        DomainCommand::Records { which, target } => {
            let opened = target.open().await?;
            let details = find(&opened, &which).await?;
            let view = json!(Domain::new(details, Vec::new(), &opened.domain_check_settings()));
            let records = view["records"].as_array().cloned().unwrap_or_default();
            target.output.list(&records, record);
        }
        DomainCommand::Show { which, target } => {
            let opened = target.open().await?;
            let details = find(&opened, &which).await?;
            show(&opened, &opened.domain_check_settings(), details, target.output).await?;
        }
        DomainCommand::Check { which, target } => {
            let opened = target.open().await?;
            let verifier = opened.verifier().await?;
            let details = find(&opened, &which).await?;
            let details =
                verifier.check(details.row.domain.id).await?.ok_or_else(|| none(&which))?;
            show(&opened, &verifier.rules, details, target.output).await?;
        }
        DomainCommand::Rotate { which, target } => {
            let opened = target.open().await?;
            let verifier = opened.verifier().await?;
            let details = verifier.rotate(find(&opened, &which).await?).await?;
            show(&opened, &verifier.rules, details, target.output).await?;
        }
        DomainCommand::Delete { which, target } => {
            let opened = target.open().await?;
            let domain = find(&opened, &which).await?.row.domain;
            opened.store.remove_domain(domain.id).await?;
            let message = format!("{} is removed", domain.name);
            let gone = DeletedDomain { id: domain.id, name: domain.name, deleted: true };
            target.output.one(&json!(gone), || message);
        }
    }
    Ok(())
}

async fn find(opened: &Opened, which: &Which) -> Result<DomainDetails, CliError> {
    let row = opened.store.domain_named(which.account, &which.name).await?;
    let id = row.ok_or_else(|| none(which))?.domain.id;
    Ok(opened.store.domain_details(id).await?.ok_or_else(|| none(which))?)
}

fn none(which: &Which) -> StoreError {
    StoreError::Missing { noun: "domain", name: which.name.to_string() }
}

async fn show(
    opened: &Opened,
    rules: &DomainCheckSettings,
    details: DomainDetails,
    output: Output,
) -> Result<(), CliError> {
    let events = opened.store.domain_events(details.row.domain.id, SHOWN_EVENTS).await?;
    let value = json!(Domain::new(details, events, rules));
    output.one(&value, || {
        let records = value["records"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut lines = vec![comment(&line(&value))];
        let failure = value["failure"].as_str();
        lines.extend(failure.map(|it| comment(&format!("could not be judged: {it}"))));
        lines.extend(records.iter().map(record));
        lines.join("\n")
    });
    Ok(())
}

fn line(value: &Value) -> String {
    let [id, mut name, state, progress] =
        ["id", "name", "state", "progress"].map(|field| text(value, field));
    if value["unicodeName"] != value["name"] {
        name = format!("{name} ({})", text(value, "unicodeName"));
    }
    let until = value["sendsUntil"].as_str().map(|it| format!(", sends until {it}"));
    format!("{id}  {name}  {state}  {progress}% verified{}", until.unwrap_or_default())
}

/// The record as a line of a zone file, below what is to be said of it.
fn record(record: &Value) -> String {
    let needed = match (record["rotation"].as_str(), record["required"].as_bool()) {
        (Some("retired"), _) => "old key ",
        (Some(_), _) => "next key",
        (None, Some(true)) => "required",
        (None, _) => "advised ",
    };
    let [status, kind, name, value] =
        ["status", "type", "name", "value"].map(|field| text(record, field));
    let hint = record["hint"].as_str().or(match needed {
        "old key " => record["help"].as_str(),
        _ => None,
    });
    let hint = hint.map(|it| format!("\n{}", comment(it))).unwrap_or_default();
    let about = comment(&format!("{needed}  {status}"));
    format!("{about}{hint}\n{}", zone_file::line(&name, &kind, &value))
}

/// Lines of a zone file that name servers pass over.
fn comment(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|it| format!("; {it}")).collect();
    lines.join("\n")
}
