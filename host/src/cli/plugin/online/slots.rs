//! `waxwing plugin list`, `logs`, `shadow`, `activate`, `rollback` and `disable`.

use std::time::Instant;

use clap::Args;
use serde_json::Value;

use super::{LOOK, OnlineError, PATIENCE, Server};
use crate::plugin::slot::SlotName;

/// List the slots: what runs, what is on its way, what was refused and why
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    server: Server,
}

/// Show what the plugins of a slot logged last
#[derive(Debug, Args)]
pub struct Logs {
    /// The slot
    slot: SlotName,
    /// At most so many lines
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    server: Server,
}

/// Make the next live calls to the component that waits too, and count the differences
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin install new.wasm --impact ask
  waxwing plugin shadow plan-policy --calls 1000
  waxwing plugin list
  waxwing plugin activate plan-policy")]
pub struct Shadow {
    /// The slot
    slot: SlotName,
    /// How many calls
    #[arg(long, default_value_t = 1_000)]
    calls: u32,
    #[command(flatten)]
    server: Server,
}

/// One slot of a running server.
#[derive(Debug, Args)]
pub struct Slot {
    /// The slot, as `waxwing plugin list` names it
    slot: SlotName,
    #[command(flatten)]
    server: Server,
}

/// `list`
pub async fn list(list: List) -> Result<(), OnlineError> {
    let answer = list.server.connect()?.get("/v1/plugins", &[]).await?;
    list.server.output.list(items(&answer), line);
    Ok(())
}

/// `logs`
pub async fn logs(logs: Logs) -> Result<(), OnlineError> {
    let path = format!("/v1/plugins/{}/logs", logs.slot);
    let query = [("limit", logs.limit.to_string())];
    let answer = logs.server.connect()?.get(&path, &query).await?;
    logs.server.output.list(items(&answer), |it| {
        format!(
            "{}  {:5}  {}  {}  {}",
            text(it, "at"),
            text(it, "level"),
            text(it, "plugin"),
            text(it, "callId"),
            text(it, "message")
        )
    });
    Ok(())
}

/// `shadow`
pub async fn shadow(shadow: Shadow) -> Result<(), OnlineError> {
    let calls = shadow.calls.to_string();
    order("shadow", &[("calls", calls)], &shadow.slot, &shadow.server).await
}

/// `activate`, `rollback` and `disable`
pub async fn ordered(word: &str, slot: Slot) -> Result<(), OnlineError> {
    order(word, &[], &slot.slot, &slot.server).await
}

async fn order(
    word: &str,
    query: &[(&str, String)],
    slot: &SlotName,
    server: &Server,
) -> Result<(), OnlineError> {
    let server_at = server.connect()?;
    let mut view = server_at.post(&format!("/v1/plugins/{slot}/{word}"), query).await?;
    let start = Instant::now();
    while is_on_its_way(&view) && start.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK).await;
        view = server_at.get(&format!("/v1/plugins/{slot}"), &[]).await?;
    }
    server.output.one(&view, || line(&view));
    Ok(())
}

/// Whether a component is between its file and what the operator may decide.
fn is_on_its_way(view: &Value) -> bool {
    let candidate = &view["candidate"];
    let rests = matches!(candidate["stage"].as_str(), Some("waiting" | "shadow"));
    !candidate.is_null() && candidate["rejected"].is_null() && !rests
}

/// The members of a list.
pub fn items(answer: &Value) -> &[Value] {
    answer["data"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A slot in words: a line for what runs, and one for each thing that is not as usual.
pub fn line(slot: &Value) -> String {
    let active = &slot["active"];
    let runs = if active.is_null() {
        "nothing yet".to_owned()
    } else {
        let origin = if active["builtin"] == true { " (built in)" } else { "" };
        format!(
            "{} {}{origin}  {}  settings {}  {} calls, {} trapped, {} ms CPU",
            text(active, "name"),
            text(active, "version"),
            short(&text(active, "digest")),
            text(active, "settingsRevision"),
            text(active, "calls"),
            text(active, "trapped"),
            active["cpuMicros"].as_u64().unwrap_or(0) / 1_000,
        )
    };
    let mut lines = vec![format!(
        "{}  {}  {}  {}  {runs}",
        text(slot, "slot"),
        text(slot, "kind"),
        text(slot, "binding"),
        text(slot, "state"),
    )];
    let candidate = &slot["candidate"];
    if let Some(reason) = candidate["rejected"].as_str() {
        let digest = short(&text(candidate, "digest"));
        lines.push(format!("  refused at {}: {digest}: {reason}", text(candidate, "stage")));
    } else if !candidate.is_null() {
        let digest = short(&text(candidate, "digest"));
        let name = text(candidate, "name");
        lines.push(format!("  on its way, {}: {name} {digest}", text(candidate, "stage")));
        if !candidate["impact"].is_null() {
            lines.push(format!("  impact: {}", indented(&summary(&candidate["impact"]))));
        }
        let shadow = &candidate["shadow"];
        if !shadow.is_null() {
            lines.push(format!(
                "  shadow: {} of {} calls answered otherwise, {} not answered, {} dropped",
                text(shadow, "different"),
                text(shadow, "compared"),
                text(shadow, "failed"),
                text(shadow, "dropped"),
            ));
        }
    }
    for gone in slot["quarantined"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let digest = short(&text(gone, "digest"));
        let (at, reason) = (text(gone, "at"), text(gone, "reason"));
        let settings = match gone["settingsRevision"].as_u64() {
            Some(revision) => format!(" with settings {revision}"),
            None => String::new(),
        };
        lines.push(format!("  in quarantine since {at}: {digest}{settings}: {reason}"));
    }
    lines.join("\n")
}

/// An impact in words.
pub fn summary(impact: &Value) -> String {
    let number = |member: &str| impact[member].as_u64().unwrap_or(0);
    let first = match (number("compared"), number("wouldChange"), number("wouldFail")) {
        (0, _, _) => "no recorded call to compare on: send some messages first".to_owned(),
        (compared, changed, 0) => format!("would change: {changed} of {compared}"),
        (compared, changed, failed) => {
            format!("would change: {changed} of {compared}, and fail on {failed}")
        }
    };
    let differences = impact["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines = differences.iter().map(|it| {
        let lines = it["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        format!("  {}: {}", text(it, "callId"), lines.join("; "))
    });
    std::iter::once(first).chain(lines).collect::<Vec<_>>().join("\n")
}

/// A member as plain text; `-` where there is none.
pub fn text(value: &Value, member: &str) -> String {
    crate::cli::output::text(value, member)
}

fn short(digest: &str) -> String {
    digest.chars().take("sha256:".len() + 12).collect()
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}
