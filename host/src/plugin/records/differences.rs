//! Where two answers differ, as short lines for people.

use serde_json::Value;

/// Characters of a value that are shown, and those before the first difference of a text.
const SHOWN: usize = 60;
const BEFORE: usize = 20;

/// The differences of two answers, one a line: `decisions[0].allow.credits: 1 -> 2`.
///
/// At most `at_most` lines; the last one says how many more there are. A long text is shown around
/// its first difference.
#[must_use]
pub fn differences(before: &Value, after: &Value, at_most: usize) -> Vec<String> {
    let mut found = Found { lines: Vec::new(), at_most, more: 0 };
    compare("", Some(before), Some(after), &mut found);
    if found.more > 0
        && let Some(last) = found.lines.last_mut()
    {
        *last = format!("{last} (and {} more)", found.more);
    }
    found.lines
}

struct Found {
    lines: Vec<String>,
    at_most: usize,
    more: usize,
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Found) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                compare(&member(path, key), before.get(key), after.get(key), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                let place = format!("{path}[{index}]");
                compare(&place, before.get(index), after.get(index), found);
            }
        }
        (before, after) if before == after => {}
        _ if found.lines.len() == found.at_most => found.more += 1,
        (before, after) => {
            let place = if path.is_empty() { "the answer" } else { path };
            let (before, after) = shown(before, after);
            found.lines.push(format!("{place}: {before} -> {after}"));
        }
    }
}

fn member(path: &str, key: &str) -> String {
    let is_plain = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (is_plain && !key.is_empty(), path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{}]", Value::from(key)),
    }
}

fn shown(before: Option<&Value>, after: Option<&Value>) -> (String, String) {
    if let (Some(Value::String(before)), Some(Value::String(after))) = (before, after) {
        let same = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
        let longest = before.chars().count().max(after.chars().count());
        let from = if longest > SHOWN { same.saturating_sub(BEFORE) } else { 0 };
        return (excerpt(before, from), excerpt(after, from));
    }
    (short(before), short(after))
}

fn short(value: Option<&Value>) -> String {
    match value {
        None => "(absent)".to_owned(),
        Some(Value::String(text)) => excerpt(text, 0),
        Some(value) => cut(&value.to_string(), 0),
    }
}

/// A piece of a text, quoted, on one line.
fn excerpt(text: &str, from: usize) -> String {
    Value::from(cut(text, from)).to_string()
}

fn cut(text: &str, from: usize) -> String {
    let mut rest = text.chars().skip(from);
    let mut piece = if from > 0 { String::from("…") } else { String::new() };
    piece.extend(rest.by_ref().take(SHOWN));
    if rest.next().is_some() {
        piece.push('…');
    }
    piece
}
