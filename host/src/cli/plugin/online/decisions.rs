//! `waxwing plugin decisions` and `replay`.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::slots::{items, text};
use super::{OnlineError, Server, WASM, read};
use crate::cli::output;

/// List the decisions of plugins: for each send the plugin, its answer, the reason and the duration
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin decisions --refusals
  waxwing plugin decisions --plugin plan-policy --limit 10
  waxwing plugin decisions --message msg_01HZX…")]
pub struct Decisions {
    /// Only those about an account, `acc_…`
    #[arg(long)]
    account: Option<String>,
    /// Only the one about a message, `msg_…`
    #[arg(long)]
    message: Option<String>,
    /// Only those of a plugin: its name, slot or digest
    #[arg(long)]
    plugin: Option<String>,
    /// Only those with this outcome: `accepted`, or the code of a refusal
    #[arg(long)]
    outcome: Option<String>,
    /// Only those about sends that became no message
    #[arg(long)]
    refusals: bool,
    /// At most so many
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// Go on after this one, `dec_…`
    #[arg(long)]
    after: Option<String>,
    #[command(flatten)]
    server: Server,
}

/// Make the recorded calls of a decision again: the answers must be the same
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin replay dec_01HZX…
  waxwing plugin replay msg_01HZX… --with fixed.wasm

Exits with 1 where an answer is not the recorded one; with --with, that is what a fix looks like,
and the exit code is 0.")]
pub struct Replay {
    /// `dec_…` or `msg_…`
    id: String,
    /// Another component to make the calls to
    #[arg(long, value_name = "COMPONENT")]
    with: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

pub async fn decisions(decisions: Decisions) -> Result<(), OnlineError> {
    let mut query = Vec::new();
    query.extend(decisions.account.map(|it| ("account", it)));
    query.extend(decisions.message.map(|it| ("message", it)));
    query.extend(decisions.plugin.map(|it| ("plugin", it)));
    query.extend(decisions.outcome.map(|it| ("outcome", it)));
    query.extend(decisions.refusals.then(|| ("refusals", "true".to_owned())));
    let server = decisions.server.connect()?;
    let found = server.items("/v1/decisions", &query, decisions.limit, decisions.after).await?;
    decisions.server.output.list(&found, line);
    Ok(())
}

pub async fn replay(replay: Replay) -> Result<(), OnlineError> {
    let component = replay.with.as_deref().map(read).transpose()?.unwrap_or_default();
    let path = format!("/v1/decisions/{}/replay", replay.id);
    let server = replay.server.connect()?;
    let answer = server.send(Method::POST, &path, &[], (WASM, component)).await?;
    let calls = items(&answer);
    replay.server.output.list(calls, replayed);
    let different = calls.iter().filter(|call| call["same"] == false).count();
    if different > 0 && replay.with.is_none() {
        return Err(OnlineError::Differs(different));
    }
    Ok(())
}

fn line(decision: &Value) -> String {
    let mut lines = vec![format!(
        "{}  {}  {}  {}",
        text(decision, "createdAt"),
        text(decision, "id"),
        text(decision, "outcome"),
        text(decision, "messageId"),
    )];
    for plugin in decision["plugins"].as_array().map(Vec::as_slice).unwrap_or_default() {
        lines.push(output::decided(plugin));
    }
    lines.join("\n")
}

fn replayed(call: &Value) -> String {
    let same = if call["same"] == true { "the same answer" } else { "another answer" };
    let mut lines = vec![format!("{} ({}): {same}", text(call, "slot"), text(call, "kind"))];
    let differences = call["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.extend(differences.iter().filter_map(Value::as_str).map(|it| format!("  {it}")));
    lines.join("\n")
}
