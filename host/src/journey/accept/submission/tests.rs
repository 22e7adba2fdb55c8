use serde_json::json;

use std::time::Duration;

use super::fields::MAX_SEND_AT_AHEAD;
use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn parse(value: Value) -> Result<Submission, Faulty> {
    Submission::parse(Channel::Api, value, NOW)
}

fn minimal() -> Value {
    json!({"to": "ada@example.com", "type": "EMAIL", "template": "welcome", "data": {}})
}

fn with(field: &str, value: Value) -> Value {
    let mut body = minimal();
    body[field] = value;
    body
}

fn faults(value: Value) -> Vec<(String, String)> {
    let faults = parse(value).expect_err("faulty").faults;
    faults.into_iter().map(|fault| (fault.field, fault.code)).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn the_four_required_fields_are_enough() {
    let submission = parse(minimal()).expect("valid");
    assert_eq!(submission.to.to_string(), "ada@example.com");
    assert!(submission.warnings.is_empty());
}

#[test]
fn all_faults_are_named_at_once() {
    let body = json!({"to": 5, "type": "SMS", "data": [], "tags": ["ok", 1], "sendAt": "soon",
        "attachments": [{"filename": "a", "content": "%%%"}], "headers": {"Bcc": "x@y.example"}});
    let wanted = [
        ("to", "type"),
        ("type", "invalid"),
        ("template", "missing"),
        ("data", "type"),
        ("tags[1]", "type"),
        ("sendAt", "invalid"),
        ("attachments[0].contentType", "missing"),
        ("attachments[0].content", "invalid"),
        ("headers.Bcc", "forbidden"),
    ];
    assert_eq!(faults(body), pairs(&wanted));
}

#[test]
fn line_breaks_cannot_reach_a_header() {
    for (field, value) in [
        ("to", json!("ada@example.com\r\nBcc: eve@example.com")),
        ("fromName", json!("Ada\r\nBcc: eve@example.com")),
        ("replyTo", json!("ada@example.com\n")),
        ("headers", json!({"X-Note": "a\r\nBcc: eve@example.com"})),
        ("headers", json!({"X-Note\r\nBcc": "a"})),
        ("headers", json!({"X-Waxwing-Template": "a"})),
    ] {
        assert!(parse(with(field, value.clone())).is_err(), "{field}: {value}");
    }
}

#[test]
fn an_unknown_field_is_accepted_with_a_warning() {
    let submission = parse(with("prority", json!(1))).expect("accepted");
    assert_eq!(submission.warnings, ["the field `prority` is unknown and was ignored"]);
}

#[test]
fn send_at_is_at_most_thirty_days_ahead() {
    let far = NOW.after(MAX_SEND_AT_AHEAD + Duration::from_secs(1)).rfc3339();
    assert_eq!(faults(with("sendAt", json!(far))), pairs(&[("sendAt", "too_far")]));
    let near = parse(with("sendAt", json!(NOW.after(MAX_SEND_AT_AHEAD).rfc3339()))).expect("valid");
    assert_eq!(near.send_at, Some(NOW.after(MAX_SEND_AT_AHEAD)));
}

#[test]
fn null_counts_as_absent() {
    assert!(parse(with("fromName", Value::Null)).is_ok());
    assert_eq!(faults(with("to", Value::Null)), pairs(&[("to", "missing")]));
}
