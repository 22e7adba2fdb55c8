//! `waxwing plugin list`, `logs`, `shadow`, `activate`, `rollback` and `disable`.

use std::time::Instant;

use clap::Args;
use serde_json::Value;

use super::{OnlineError, PATIENCE, POLL_INTERVAL, Server};
use crate::plugin::slot::SlotName;

/// List the slots: the active version, the candidate, and why one was rejected
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

pub async fn list(list: List) -> Result<(), OnlineError> {
    let answer = list.server.connect()?.get("/v1/plugins", &[]).await?;
    list.server.output.list(items(&answer), line);
    Ok(())
}

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
        tokio::time::sleep(POLL_INTERVAL).await;
        view = server_at.get(&format!("/v1/plugins/{slot}"), &[]).await?;
    }
    server.output.one(&view, || line(&view));
    Ok(())
}

/// Whether a component is between its file and what the operator may decide.
pub fn is_on_its_way(view: &Value) -> bool {
    let candidate = &view["candidate"];
    let rests = matches!(candidate["stage"].as_str(), Some("waiting" | "shadow"));
    !candidate.is_null() && candidate["rejected"].is_null() && !rests
}

/// The members of a list.
pub fn items(answer: &Value) -> &[Value] {
    items_of(answer, "data")
}

/// A slot in words: a line for what runs, and one for each thing that is not as usual.
pub fn line(slot: &Value) -> String {
    let active = &slot["active"];
    let is_off = slot["state"] == "disabled";
    let runs = if active.is_null() {
        let nothing = if is_off { "a broader plugin answers its calls" } else { "nothing yet" };
        nothing.to_owned()
    } else {
        let origin = if active["builtin"] == true { " (built in)" } else { "" };
        format!(
            "{} {}{origin}  {}  settings {}  {} calls, {} trapped, {} given up, {} ms CPU",
            text(active, "name"),
            text(active, "version"),
            short(&text(active, "digest")),
            text(active, "settingsRevision"),
            text(active, "calls"),
            text(active, "trapped"),
            text(active, "gaveUp"),
            active["cpuMicros"].as_u64().unwrap_or(0) / 1_000,
        )
    };
    // What stands here decides; what the operator switched off has a line of its own.
    let state = if is_off && !active.is_null() { "active".to_owned() } else { text(slot, "state") };
    let mut lines = vec![format!(
        "{}  {}  {}  {state}  {runs}",
        text(slot, "slot"),
        text(slot, "kind"),
        text(slot, "binding"),
    )];
    if is_off {
        let slot = text(slot, "slot");
        lines.push(format!(
            "  its own component is switched off; `waxwing plugin activate {slot}` switches it on"
        ));
    }
    if !active["shadow"].is_null() {
        let seen = indented(&in_the_shadow(&active["shadow"]));
        lines.push(format!("  in the shadow before it was live: {seen}"));
    }
    let candidate = &slot["candidate"];
    if let Some(reason) = candidate["rejected"].as_str() {
        let digest = short(&text(candidate, "digest"));
        lines.push(format!("  refused at {}: {digest}: {reason}", text(candidate, "stage")));
    } else if !candidate.is_null() {
        let digest = short(&text(candidate, "digest"));
        let name = text(candidate, "name");
        lines.push(format!("  on its way, {}: {name} {digest}", text(candidate, "stage")));
        if let Some(why) = candidate["waits"].as_str() {
            lines.push(format!("  does not go live by itself: {why}"));
        }
        if !candidate["impact"].is_null() {
            lines.push(format!("  impact: {}", indented(&summary(&candidate["impact"]))));
        }
        let shadow = &candidate["shadow"];
        if !shadow.is_null() {
            lines.push(format!("  shadow: {}", indented(&in_the_shadow(shadow))));
        }
    }
    for node in items_of(slot, "nodes").iter().filter(|it| it["state"] != "active") {
        let digest = short(&text(node, "digest"));
        let reason = node["reason"].as_str().map(|it| format!(": {it}")).unwrap_or_default();
        lines.push(format!(
            "  node {} is {}, and runs {digest}{reason}",
            text(node, "node"),
            text(node, "state")
        ));
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

/// What came of a shadow, in words.
fn in_the_shadow(shadow: &Value) -> String {
    let first = format!(
        "{} of {} calls answered otherwise, {} served worse, {} dropped",
        text(shadow, "different"),
        text(shadow, "compared"),
        text(shadow, "failed"),
        text(shadow, "dropped"),
    );
    std::iter::once(first).chain(grouped(shadow)).collect::<Vec<_>>().join("\n")
}

/// An impact in words.
pub fn summary(impact: &Value) -> String {
    let number = |value: &Value, member: &str| value[member].as_u64().unwrap_or(0);
    let templates = &impact["templates"];
    let checked = number(templates, "checked");
    let of_calls = ["compared", "wouldChange", "wouldFail"].map(|it| number(impact, it));
    let mut lines = match of_calls {
        [0, ..] if checked > 0 => Vec::new(),
        [0, ..] => {
            vec!["no recorded call to compare on: send some messages first".to_owned()]
        }
        [compared, changed, 0] => vec![format!("would change: {changed} of {compared}")],
        [compared, changed, failed] => {
            vec![format!("would change: {changed} of {compared}, and serve {failed} worse")]
        }
    };
    if number(impact, "pass") > 0 {
        let (pass, still) = (number(impact, "pass"), number(impact, "wouldPass"));
        lines.push(format!("pass now: {pass}; of those, would pass: {still}"));
    }
    lines.extend(grouped(impact));
    if checked > 0 {
        let failed = number(templates, "failed");
        lines.push(format!("published templates: {failed} of {checked} would be served worse"));
    }
    lines.extend(templates_in(templates, "failures"));
    if number(templates, "changed") > 0 {
        let changed = number(templates, "changed");
        lines.push(format!(
            "published templates: {changed} of {checked} would be compiled otherwise in their next version"
        ));
    }
    lines.extend(templates_in(templates, "changes"));
    lines.join("\n")
}

/// Templates that are listed, a line for each.
fn templates_in<'a>(templates: &'a Value, list: &str) -> impl Iterator<Item = String> + use<'a> {
    items_of(templates, list).iter().map(|it| {
        let (template, account) = (text(it, "template"), text(it, "account"));
        format!(
            "  {template} of {account}, revision {}: {}",
            text(it, "revision"),
            text(it, "reason")
        )
    })
}

/// Equal differences, a line for each, with the first calls that differ so.
fn grouped(differences: &Value) -> impl Iterator<Item = String> {
    items_of(differences, "groups").iter().map(|group| {
        let calls: Vec<&str> =
            items_of(group, "callIds").iter().filter_map(Value::as_str).collect();
        format!("  {} x {}  ({})", text(group, "calls"), text(group, "what"), calls.join(", "))
    })
}

fn items_of<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_decides_is_never_called_disabled() {
        let slot = json!({
            "slot": "plan-policy", "kind": "plan", "binding": "server", "state": "disabled",
            "active": {"name": "waxwing-plan-policy", "version": "0.1.0", "builtin": true},
        });
        let text = line(&slot);
        assert!(
            text.starts_with("plan-policy  plan  server  active  waxwing-plan-policy"),
            "{text}"
        );
        assert!(text.contains("its own component is switched off"), "{text}");
        assert!(!text.contains("disabled"), "{text}");
    }

    #[test]
    fn equal_differences_are_one_line_and_templates_are_named() {
        let impact = json!({
            "compared": 40, "wouldChange": 30, "wouldFail": 10, "pass": 40, "wouldPass": 10,
            "groups": [{"what": "allow for 1 -> deny (quiet-hours)", "calls": 30, "callIds": ["req_1"]}],
            "templates": {"checked": 3, "failed": 1, "failures": [
                {"account": "acc_1", "template": "welcome", "revision": 2, "reason": "the answer has no html"},
            ]},
        });
        assert_eq!(
            summary(&impact),
            "would change: 30 of 40, and serve 10 worse\npass now: 40; of those, would pass: 10\n  30 x allow for 1 -> deny (quiet-hours)  (req_1)\n\
             published templates: 1 of 3 would be served worse\n  welcome of acc_1, revision 2: the \
             answer has no html"
        );
        let of_mjml = json!({"compared": 0, "templates": {"checked": 2, "failed": 0, "changed": 1, "changes": [
            {"account": "acc_1", "template": "welcome", "revision": 2, "reason": "html: \"a\" -> \"b\""},
        ]}});
        assert_eq!(
            summary(&of_mjml),
            "published templates: 0 of 2 would be served worse\n\
             published templates: 1 of 2 would be compiled otherwise in their next version\n  \
             welcome of acc_1, revision 2: html: \"a\" -> \"b\""
        );
    }
}
