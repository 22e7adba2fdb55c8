//! A difference of two answers in so few words that equal ones can be counted together.

use serde_json::Value;

use super::differences;
use crate::plugin::runtime::kind::Kind;

const MAX_COMPARED_LINES: usize = 20;

/// What differs, without what is different in each call.
#[must_use]
pub fn summarize_change(kind: Kind, before: &Value, after: &Value) -> String {
    let (was, is) = (outcome(before), outcome(after));
    if was != is || was != "an answer" {
        return format!("{was} -> {is}");
    }
    match kind {
        Kind::Plan => decisions(before, after),
        Kind::Renderer | Kind::Domain | Kind::Mjml => paths(before, after),
    }
}

fn outcome(answer: &Value) -> &'static str {
    match (answer.get("trap"), answer.get("failure")) {
        (Some(_), _) => "no answer",
        (None, Some(failure)) if failure.get("invalidInput").is_some() => "a fault of the data",
        (None, Some(failure)) if failure.get("misconfigured").is_some() => {
            "a fault of the template"
        }
        (None, Some(_)) => "a failure of the plugin",
        (None, None) => "an answer",
    }
}

fn decisions(before: &Value, after: &Value) -> String {
    let list = |answer: &Value| answer["decisions"].as_array().cloned().unwrap_or_default();
    let (before, after) = (list(before), list(after));
    let mut changes: Vec<String> = Vec::new();
    for index in 0..before.len().max(after.len()) {
        let (was, is) = (decision(before.get(index)), decision(after.get(index)));
        let change =
            if was == is { format!("{was}, for another reason") } else { format!("{was} -> {is}") };
        if before.get(index) != after.get(index) && !changes.contains(&change) {
            changes.push(change);
        }
    }
    changes.join("; ")
}

fn decision(decision: Option<&Value>) -> String {
    match decision {
        Some(it) if it.get("allow").is_some() => format!("allow for {}", it["allow"]["credits"]),
        Some(it) => format!("deny ({})", it["deny"]["code"].as_str().unwrap_or("no code")),
        None => "no decision".to_owned(),
    }
}

/// The places that differ, whatever stands there, and of a list whichever element.
fn paths(before: &Value, after: &Value) -> String {
    let mut paths: Vec<String> = Vec::new();
    for line in differences(before, after, MAX_COMPARED_LINES) {
        let path = line.split(": ").next().unwrap_or_default();
        let path: String = path.chars().filter(|c| !c.is_ascii_digit()).collect();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    format!("another {}", paths.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_changes_of_different_calls_have_the_same_words() {
        let allow = |credits: u32, reason: &str| json!({"decisions": [{"allow": {"credits": credits, "reason": reason}}]});
        let deny =
            json!({"decisions": [{"deny": {"code": "restricted-template", "message": "x"}}]});
        let of = |before: &Value, after: &Value| summarize_change(Kind::Plan, before, after);
        assert_eq!(of(&allow(1, "a"), &deny), "allow for 1 -> deny (restricted-template)");
        assert_eq!(of(&allow(1, "a"), &allow(2, "b")), "allow for 1 -> allow for 2");
        assert_eq!(of(&allow(1, "a"), &allow(1, "b")), "allow for 1, for another reason");
        assert_eq!(of(&allow(1, "a"), &json!({"trap": "x"})), "an answer -> no answer");
        let mail = |text: &str| json!({"subject": "s", "text": text});
        assert_eq!(summarize_change(Kind::Renderer, &mail("a"), &mail("b")), "another text");
    }
}
