//! What a plugin's answer means for the send that asked for it: it goes on, it is declined for a
//! fault of its own, or it fails.

use serde_json::Value;

use crate::plugin::kinds::renderer::{Part, Template};
use crate::plugin::runtime::kind::Kind;

/// The parts without which a mail is not what it was.
const PARTS: [&str; 3] = ["subject", "html", "text"];

/// Better is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SendOutcome {
    /// The send goes on by it.
    Answered,
    /// The send is refused for a fault in its data or its template.
    Declined,
    /// The send is refused though nothing is wrong with it.
    Failed,
}

/// Why `after` serves a send worse than `before`, if it does.
#[must_use]
pub fn regression(kind: Kind, before: &Value, after: &Value) -> Option<String> {
    let (was, is) = (outcome(kind, before), outcome(kind, after));
    if is > was {
        return Some(reason(after));
    }
    if (kind, was, is) != (Kind::Renderer, SendOutcome::Answered, SendOutcome::Answered) {
        return None;
    }
    let lost: Vec<&str> =
        PARTS.into_iter().filter(|part| has(before, part) && !has(after, part)).collect();
    (!lost.is_empty()).then(|| format!("the answer has no {}", lost.join(", no ")))
}

/// Whether an answer fails the send, though nothing is wrong with that.
#[must_use]
pub fn is_failure(kind: Kind, answer: &Value) -> bool {
    outcome(kind, answer) == SendOutcome::Failed
}

/// Whether a policy lets a send pass, or finds a domain in order. A renderer decides neither.
#[must_use]
pub fn lets_pass(kind: Kind, answer: &Value) -> bool {
    let list = |name: &str| answer[name].as_array().map(Vec::as_slice).unwrap_or_default();
    match kind {
        Kind::Renderer | Kind::Mjml => false,
        Kind::Plan => list("decisions").iter().any(|it| it.get("allow").is_some()),
        Kind::Domain => {
            let findings = list("findings");
            !findings.is_empty() && findings.iter().all(|it| it["status"] == "satisfied")
        }
    }
}

/// Whether a renderer's answer has every part that any renderer could make of a template.
#[must_use]
pub fn has_all_parts(template: &Template, answer: &Value) -> bool {
    let written = |part: Part| {
        template.sources.iter().any(|it| it.part == part && !it.text.trim().is_empty())
    };
    let html = written(Part::Html);
    // A text is made of the HTML where there is none.
    let parts = [written(Part::Subject), html, html || written(Part::Text)];
    PARTS.into_iter().zip(parts).all(|(part, is_written)| !is_written || has(answer, part))
}

fn outcome(kind: Kind, answer: &Value) -> SendOutcome {
    match (answer.get("trap"), answer.get("failure")) {
        (None, None) => SendOutcome::Answered,
        // Only these can say that somebody else is at fault; a policy that gives up closes the send.
        (None, Some(failure))
            if matches!(kind, Kind::Renderer | Kind::Mjml) && failure.get("internal").is_none() =>
        {
            SendOutcome::Declined
        }
        (_, _) => SendOutcome::Failed,
    }
}

fn has(answer: &Value, part: &str) -> bool {
    answer[part].as_str().is_some_and(|text| !text.trim().is_empty())
}

fn reason(answer: &Value) -> String {
    let trap = answer["trap"].as_str().map(str::to_owned);
    trap.unwrap_or_else(|| format!("the plugin gives up: {}", answer["failure"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_passes_what_it_allows_or_finds_in_order() {
        let allow = json!({"decisions": [{"deny": {}}, {"allow": {"credits": 1}}]});
        assert!(lets_pass(Kind::Plan, &allow));
        assert!(!lets_pass(Kind::Plan, &json!({"decisions": [{"deny": {}}]})));
        assert!(!lets_pass(Kind::Plan, &json!({"trap": "unreachable"})));
        let finding = |status: &str| json!({"requirementId": "spf", "status": status});
        let found = |statuses: &[&str]| {
            let findings = statuses.iter().map(|it| finding(it)).collect::<Vec<_>>();
            lets_pass(Kind::Domain, &json!({ "findings": findings }))
        };
        assert!(found(&["satisfied"]) && !found(&["satisfied", "wrong"]) && !found(&[]));
    }

    #[test]
    fn an_answer_without_a_part_that_was_there_is_worse() {
        let both = json!({"subject": "Hi", "html": "<p>Hi</p>", "text": "Hi"});
        let none = json!({"subject": "Hi", "html": null, "text": " \n"});
        let reason = regression(Kind::Renderer, &both, &none);
        assert_eq!(reason.as_deref(), Some("the answer has no html, no text"));
        assert_eq!(regression(Kind::Renderer, &none, &both), None);
    }

    #[test]
    fn a_failure_is_worse_than_an_answer_and_a_defect_than_a_senders_fault() {
        let mail = json!({"subject": "Hi", "text": "Hi"});
        let fault = json!({"failure": {"invalidInput": []}});
        let defect = json!({"failure": {"internal": "no"}});
        let trap = json!({"trap": "unreachable"});
        assert!(regression(Kind::Renderer, &mail, &fault).is_some());
        assert!(regression(Kind::Renderer, &fault, &defect).is_some());
        assert_eq!(regression(Kind::Renderer, &trap, &defect), None);
        assert_eq!(
            regression(Kind::Plan, &fault, &defect),
            None,
            "a plan policy closes the send anyway"
        );
        assert!(regression(Kind::Plan, &json!({"decisions": []}), &fault).is_some());
    }
}
