//! Messages in lines for people.

use serde_json::Value;

use super::super::output::{decided, text};

/// A message on one line.
pub fn line(value: &Value) -> String {
    let [id, state, to, subject] = ["id", "state", "to", "subject"].map(|it| text(value, it));
    let next = value["nextAttemptAt"].as_str().map(|it| format!("  (next attempt {it})"));
    format!("{id}  {state}  {to}  {subject}{}", next.unwrap_or_default())
}

/// All of a message.
pub fn whole(value: &Value) -> String {
    let mut lines = vec![line(value), format!("  from {}", text(value, "from"))];
    let credits = [text(value, "credits"), text(value, "refunded")];
    lines.push(format!("  credits {}, refunded {}", credits[0], credits[1]));
    if let Some(first) = value["resentFrom"].as_str() {
        lines.push(format!("  resent from {first}"));
    }
    if let Some(at) = value["complainedAt"].as_str() {
        lines.push(format!("  called spam {at}"));
    }
    let all = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    lines.extend(all("events").iter().map(event));
    lines.extend(all("attempts").iter().map(reply));
    lines.extend(all("decisions").iter().map(decided));
    lines.join("\n")
}

pub fn event(value: &Value) -> String {
    format!("  {}  {}  {}", text(value, "at"), text(value, "type"), text(value, "detail"))
}

/// An attempt with its conversation.
pub fn attempt(value: &Value) -> String {
    let conversation = value["conversation"].as_str().unwrap_or_default();
    let conversation = conversation.lines().map(|line| format!("      {line}"));
    std::iter::once(reply(value)).chain(conversation).collect::<Vec<_>>().join("\n")
}

fn reply(value: &Value) -> String {
    let [number, at, route, host, tls, outcome, reply] =
        ["number", "startedAt", "route", "host", "tls", "outcome", "reply"]
            .map(|it| text(value, it));
    format!("  attempt {number}  {at}  {route}  {host}  {tls}  {outcome}  {reply}")
}
