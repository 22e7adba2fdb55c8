//! `waxwing queue`: asks the running server why mail waits, holds delivery before a start, and releases it.

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::text;
use super::plugin::OnlineServer;
use crate::id::MessageId;
use crate::plural::plural;

/// Inspect the queue: which destinations have waiting mail, and why.
#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    /// List the destinations for which mail waits, by name, each with its reason; asks the running server
    List {
        /// How many destinations at most
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only those behind this one
        #[arg(long)]
        after: Option<String>,
        #[command(flatten)]
        server: OnlineServer,
    },
    /// Say why a message, or all mail to a domain, waits, until when, and what to do; asks the running
    /// server, which alone knows its back-offs and limits
    #[command(after_help = "Examples:
  waxwing queue why example.org
  waxwing queue why msg_01JAB3… --json")]
    Why {
        /// A recipient domain, or `msg_…`
        subject: String,
        #[command(flatten)]
        server: OnlineServer,
    },
    /// Have the next start hold delivery, as after `waxwing restore`: before the first start on a snapshot of a disk, or on
    /// a restored database of PostgreSQL
    Hold {
        #[command(flatten)]
        target: Target,
    },
    /// Let the mail of a server go that was restored from a backup; asks the running server
    #[command(after_help = "Examples:
  waxwing queue release                  # messages that waited in the backup are sent, some of them again
  waxwing queue release --cancel-queued  # those that may have gone out are canceled and refunded")]
    Release {
        /// First cancel, with their refunds, the messages that waited when the backup was taken and may have
        /// gone out since
        #[arg(long)]
        cancel_queued: bool,
        #[command(flatten)]
        server: OnlineServer,
    },
}

pub async fn run(command: QueueCommand) -> Result<(), CliError> {
    match command {
        QueueCommand::List { limit, after, server } => {
            let found = server.connect()?.items("/v1/queue", &[], limit, after).await?;
            server.output.list(&found, destination);
            Ok(())
        }
        QueueCommand::Why { subject, server } => why(subject, &server).await,
        QueueCommand::Hold { target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            opened.store.hold_delivery(now).await?;
            target.output.one(&json!({"heldFrom": now.rfc3339()}), || {
                "the next start holds delivery, until `waxwing queue release`; a server that runs now goes on sending"
                    .to_owned()
            });
            Ok(())
        }
        QueueCommand::Release { cancel_queued, server } => {
            let old_mail = if cancel_queued { "cancel" } else { "send" };
            let query = [("oldMail", old_mail.to_owned())];
            let answer = server.connect()?.post("/v1/queue/release", &query).await?;
            server.output.one(&answer, || released(&answer));
            Ok(())
        }
    }
}

fn released(answer: &Value) -> String {
    if answer["wasHeld"] != true {
        return "delivery was not held".to_owned();
    }
    let (backup, canceled) = (text(answer, "backupAt"), answer["canceled"].as_u64());
    let canceled = canceled.unwrap_or_default();
    let messages = plural(canceled, "message", "messages");
    format!("delivery goes on; canceled {canceled} {messages} that waited at {backup}")
}

async fn why(subject: String, server: &OnlineServer) -> Result<(), CliError> {
    let connection = server.connect()?;
    if subject.parse::<MessageId>().is_ok() {
        let answer = connection.get("/v1/queue/why", &[("message", subject)]).await?;
        server.output.one(&answer, || message(&answer));
        return Ok(());
    }
    let is_plain =
        |it: char| it.is_alphanumeric() || matches!(it, '.' | '-' | '_' | '[' | ']' | ':');
    let is_malformed_id = subject.to_ascii_lowercase().starts_with("msg_");
    if subject.is_empty() || is_malformed_id || !subject.chars().all(is_plain) {
        return Err(CliError::Usage(format!(
            "`{subject}` is neither a domain nor a message; give a recipient domain, such as \
             example.org, or the identifier of a message, msg_…"
        )));
    }
    let answer = connection.get("/v1/queue/why", &[("domain", subject)]).await?;
    server.output.one(&answer, || domain(&answer));
    Ok(())
}

fn destination(value: &Value) -> String {
    let [domain, messages, reason] = ["domain", "messages", "waitsFor"].map(|it| text(value, it));
    let more = if value["hasMore"] == true { "+" } else { "" };
    let until = value["until"].as_str().map(|it| format!(", until {it}")).unwrap_or_default();
    format!("{domain}  {messages}{more} ({reason}{until}): {}", text(value, "explanation"))
}

fn message(value: &Value) -> String {
    let [id, to, state, since] = ["id", "to", "state", "since"].map(|it| text(value, it));
    let mut lines = vec![
        format!("{id} to {to} is {state} since {since}."),
        format!("Why: {}.", text(value, "explanation")),
        format!("Reason: {}.", text(value, "reason")),
    ];
    let next = value["next"].as_str().map(|it| format!("Next: {it}."));
    lines.extend(next.into_iter().chain(advice(value)).chain(last_attempt(value)));
    lines.join("\n")
}

fn domain(value: &Value) -> String {
    let domain = text(value, "domain");
    let mut lines = vec![match value["messages"].as_u64().unwrap_or_default() {
        1 => format!("1 message to {domain} waits."),
        all if value["hasMore"] == true => format!("At least {all} messages to {domain} wait."),
        all => format!("{all} messages to {domain} wait."),
    }];
    for group in value["groups"].as_array().into_iter().flatten() {
        let [messages, reason] = ["messages", "waitsFor"].map(|it| text(group, it));
        lines.push(format!("{messages} ({reason}): {}.", text(group, "explanation")));
        let until = group["until"].as_str().map(|it| format!("The first of them is due at {it}."));
        lines.extend(until.into_iter().chain(advice(group)).map(|it| format!("  {it}")));
    }
    for hosts in value["hosts"].as_array().into_iter().flatten() {
        lines.push(format!("Hosts: {}.", health(hosts)));
    }
    if let Some(reason) = value["unresolved"].as_str() {
        lines.push(format!("MX: {reason}."));
    }
    lines.extend(last_attempt(value));
    lines.join("\n")
}

/// Health of a group of hosts, on one line.
fn health(hosts: &Value) -> String {
    let until = hosts["until"].as_str().map(|it| format!(" until {it}"));
    let failures = match hosts["failures"].as_u64().unwrap_or_default() {
        0 => None,
        1 => Some(", after 1 failure".to_owned()),
        failures => Some(format!(", after {failures} failures")),
    };
    let error = hosts["lastError"].as_str();
    let error = error.map(|it| format!("; last error at {}: {it}", text(hosts, "lastErrorAt")));
    let health = text(hosts, "health").replace('_', " ");
    let details: String = [until, failures, error].into_iter().flatten().collect();
    format!("{}, {health}{details}", text(hosts, "hosts"))
}

fn advice(value: &Value) -> Option<String> {
    value["advice"].as_str().map(|it| format!("What to do: {it}."))
}

fn last_attempt(value: &Value) -> Option<String> {
    let last = value.get("lastAttempt").filter(|it| !it.is_null())?;
    let host = last["host"].as_str().map(|it| format!(" at {it}")).unwrap_or_default();
    Some(format!("Last attempt{host} ended {}: {}.", text(last, "at"), text(last, "reply")))
}
