//! Answers, and where two of them differ.

use serde_json::{Value, json};

use super::super::{answer, differences};
use crate::plugin::kinds::domain::{
    Finding, Judgement, Lookup, Purpose, RecordType, Requirement, Status, Verdict as Judged,
};
use crate::plugin::kinds::plan::{Charge, Denial, Verdict};
use crate::plugin::kinds::renderer::{Body, Output, Part};
use crate::plugin::runtime::bindings::types::Diagnostic;
use crate::plugin::runtime::bindings::types::{Failure, Severity};

fn fault() -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "missing_variable".to_owned(),
        message: "name is missing".to_owned(),
        line: 0,
        column: 0,
        snippet: None,
        path: Some("name".to_owned()),
        part: None,
    }
}

fn body(part: Part, text: &str) -> Body {
    Body { part, text: text.to_owned() }
}

#[test]
fn decisions_say_allow_or_deny() {
    let denial = Denial {
        code: "restricted-template".to_owned(),
        message: "no".to_owned(),
        required_plan: Some("pro".to_owned()),
        retry_after_s: None,
    };
    let charge = Charge { credits: 1, reason: None };
    let answer = answer::decisions(&Ok(vec![Verdict::Allow(charge), Verdict::Deny(denial)]));
    let expected = json!({ "decisions": [
        { "allow": { "credits": 1, "reason": null } },
        { "deny": { "code": "restricted-template", "message": "no", "requiredPlan": "pro",
                    "retryAfterS": null } },
    ] });
    assert_eq!(answer, expected);
}

#[test]
fn an_output_has_a_member_for_each_part() {
    let bodies = vec![body(Part::Subject, "Hi"), body(Part::Text, "a"), body(Part::Text, "b")];
    let answer = answer::output(&Ok(Output { bodies, missing: vec!["x".to_owned()] }));
    let expected = json!({
        "subject": "Hi", "preheader": null, "html": null, "text": "b", "missing": ["x"],
    });
    assert_eq!(answer, expected);
}

#[test]
fn requirements_findings_and_needs_use_the_words_of_the_interface() {
    let requirement = Requirement {
        id: "r".to_owned(),
        purpose: Purpose::ReturnPath,
        required: true,
        name: "n".to_owned(),
        record_type: RecordType::Cname,
        suggested_value: "v".to_owned(),
        help: "h".to_owned(),
    };
    let expected = json!({ "requirements": [{
        "id": "r", "purpose": "returnPath", "required": true, "name": "n", "recordType": "cname",
        "suggestedValue": "v", "help": "h",
    }] });
    assert_eq!(answer::requirements(&Ok(vec![requirement])), expected);

    let finding = Finding {
        requirement_id: "r".to_owned(),
        status: Status::Satisfied,
        found: vec!["f".to_owned()],
        hint: String::new(),
    };
    let judgement = Judgement { findings: vec![finding], recheck_after_s: Some(3_600) };
    let expected = json!({
        "findings": [{ "requirementId": "r", "status": "satisfied", "found": ["f"], "hint": "" }],
        "recheckAfterS": 3600,
    });
    assert_eq!(answer::verdict(&Ok(Judged::Decided(judgement))), expected);

    let lookup = Lookup { id: "i".to_owned(), name: "n".to_owned(), record_type: RecordType::Txt };
    let expected = json!({ "need": [{ "id": "i", "name": "n", "recordType": "txt" }] });
    assert_eq!(answer::verdict(&Ok(Judged::Need(vec![lookup]))), expected);
}

#[test]
fn a_failure_keeps_its_kind_and_every_fault() {
    let fault_json = json!({
        "severity": "error", "code": "missing_variable", "message": "name is missing", "line": 0,
        "column": 0, "snippet": null, "path": "name", "part": null,
    });
    let invalid = answer::output(&Err(Failure::InvalidInput(vec![fault()])));
    assert_eq!(invalid, json!({ "failure": { "invalidInput": [fault_json] } }));
    let misconfigured = answer::requirements(&Err(Failure::Misconfigured(vec![fault()])));
    assert_eq!(misconfigured, json!({ "failure": { "misconfigured": [fault_json] } }));
    let internal = answer::decisions(&Err(Failure::Internal("no".to_owned())));
    assert_eq!(internal, json!({ "failure": { "internal": "no" } }));
    assert_eq!(answer::failed("unreachable"), json!({ "trap": "unreachable" }));
}

#[test]
fn equal_answers_have_no_differences_whatever_their_members_order() {
    let (a, b) =
        (json!({ "x": [1, { "y": null }], "z": 1 }), json!({ "z": 1, "x": [1, { "y": null }] }));
    assert_eq!(a, b);
    assert!(differences(&a, &b, 10).is_empty());
}

#[test]
fn a_difference_is_named_by_its_place() {
    let before = json!({ "decisions": [{ "allow": { "credits": 1, "reason": null } }], "a b": 1 });
    let after = json!({ "decisions": [{ "allow": { "credits": 2, "reason": "night" } }, {}],
                        "a b": [1], "new": true });
    let expected = [
        "decisions[0].allow.credits: 1 -> 2",
        "decisions[0].allow.reason: null -> \"night\"",
        "decisions[1]: (absent) -> {}",
        "[\"a b\"]: 1 -> [1]",
        "new: (absent) -> true",
    ];
    assert_eq!(differences(&before, &after, 10), expected);
    assert_eq!(differences(&json!(1), &json!("1"), 10), ["the answer: 1 -> \"1\""]);
}

#[test]
fn no_more_lines_than_wanted_and_none_is_lost_silently() {
    let before: Vec<Value> = (0..9).map(Value::from).collect();
    let after: Vec<Value> = (1..10).map(Value::from).collect();
    let (before, after) = (Value::from(before), Value::from(after));
    assert_eq!(differences(&before, &after, 9).len(), 9);
    assert_eq!(differences(&before, &after, 2), ["[0]: 0 -> 1", "[1]: 1 -> 2 (and 7 more)"]);
    assert!(differences(&before, &after, 0).is_empty());
}

#[test]
fn a_long_text_is_shown_around_its_first_difference() {
    let text = |name: &str| format!("{}<b>{name}</b>{}", "ä".repeat(500), "\n".repeat(500));
    let lines = differences(&json!({ "html": text("Ada") }), &json!({ "html": text("Bob") }), 5);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert!(line.starts_with("html: \"…ä"), "{line}");
    assert!(line.contains("ä<b>Ada</b>") && line.contains("ä<b>Bob</b>"), "{line}");
    assert!(!line.contains('\n') && line.chars().count() < 300, "{line}");
    let long = differences(&json!(null), &json!({ "x": "y".repeat(500) }), 5);
    assert!(long[0].ends_with('…') && long[0].chars().count() < 100, "{long:?}");
}
