//! Our own header fields, and variables from several places.

use super::*;

#[test]
fn every_field_of_ours_is_taken() {
    let (submission, filled) = filled(
        "x-waxwing-TEMPLATE: order-shipped\nX-Waxwing-Data: {\"a\": 1}\nFrom: Shop <shop@example.com>\n\
         Reply-To: Help <help@example.com>\nX-Waxwing-From-Name: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\
         X-Waxwing-Tag: orders\nX-Waxwing-Tag: =?utf-8?q?gr=C3=BCn?=\nX-Waxwing-Metadata-Order-Id: 47 11\n\
         X-Waxwing-Send-At: 2027-01-15T09:00:00Z\nSubject: ignored\nList-Unsubscribe: <https://x.example/u>,\n\
         \t<mailto:u@example.com>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\nX-Other: ignored\n\n",
    );
    assert_eq!(filled.template.as_str(), "order-shipped");
    assert_eq!(Value::Object(filled.data.parsed()), json!({"a": 1}));
    assert_eq!(filled.from_name.as_deref(), Some("Grüße"));
    assert_eq!(filled.from.map(|it| it.to_string()).as_deref(), Some("shop@example.com"));
    assert_eq!(filled.reply_to.map(|it| it.to_string()).as_deref(), Some("help@example.com"));
    assert_eq!(submission.tags, ["orders", "grün"]);
    assert_eq!(Value::Object(submission.metadata), json!({"order-id": "47 11"}));
    assert_eq!(submission.send_at, Timestamp::parse_rfc3339("2027-01-15T09:00:00Z"));
    assert_eq!(submission.channel, Channel::Smtp);
    let headers = [
        ("List-Unsubscribe", "<https://x.example/u>, <mailto:u@example.com>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    ];
    assert_eq!(filled.headers, pairs(&headers));
    assert!(submission.warnings.is_empty());
}

#[test]
fn variables_are_merged_in_order_and_at_every_depth() {
    for (lines, expected) in [
        ("X-Other: 1", json!({})),
        (
            "X-Waxwing-Data: {\"a\":1,\"o\":{\"x\":1,\"y\":[1]}}\nX-WAXWING-DATA: {\"b\":2,\"o\":{\"y\":[2],\"z\":3}}",
            json!({"a": 1, "o": {"x": 1, "y": [2], "z": 3}, "b": 2}),
        ),
        (
            "X-Waxwing-Data: {\"a\":{\"b\":1}}\nX-Waxwing-Data: {\"a\":null}\nX-Waxwing-Data: {\"a\":{\"c\":2}}",
            json!({"a": {"c": 2}}),
        ),
        (
            "X-Waxwing-Data: {\"a\":9}\nContent-Type: application/json\n\n{\"a\": 1, \"b\": 2}",
            json!({"a": 9, "b": 2}),
        ),
        ("X-Waxwing-Data: {\"a\": \"x\n  y\",\n\t\"b\": 1}", json!({"a": "x  y", "b": 1})),
        (
            "X-Waxwing-Data:{\"emoji\":\n \"Grüße 🎉 \\ud83c\\udf89\"}",
            json!({"emoji": "Grüße 🎉 🎉"}),
        ),
    ] {
        let (_, filled) = filled(&with(lines));
        assert_eq!(Value::Object(filled.data.parsed()), expected, "{lines}");
    }
}

#[test]
fn all_faults_are_named_at_once_and_by_header() {
    let text = "X-Waxwing-Template: No Slug\nX-Waxwing-Data: {\"a\":1,}\nX-Waxwing-Data: [1]\n\
                From: a@example.com, b@example.com\nReply-To: x\nX-Waxwing-Tagg: x\nX-Waxwing-Metadata-: x\n\
                X-Waxwing-Tag: =?utf-8?q?a=0D=0Ab?=\nX-Waxwing-Send-At: soon\nX-Waxwing-Idempotency-Key: a b\n\
                X-Waxwing-Metadata-A: 1\nX-Waxwing-Metadata-a: 2\nX-Waxwing-From-Name: =?utf-8?q?x=00?=\n\n";
    let wanted = [
        ("X-Waxwing-Tagg", "unknown"),
        ("X-Waxwing-Metadata-", "unknown"),
        ("X-Waxwing-Metadata-a", "repeated"),
        ("X-Waxwing-Idempotency-Key", "invalid"),
        ("X-Waxwing-Data", "malformed_json"),
        ("X-Waxwing-Data", "type"),
        ("From", "too_many"),
        ("Reply-To", "invalid"),
        ("X-Waxwing-Template", "invalid"),
        ("X-Waxwing-From-Name", "invalid"),
        ("X-Waxwing-Tag", "invalid"),
        ("X-Waxwing-Send-At", "invalid"),
    ];
    assert_eq!(faults(text), pairs(&wanted));
}

#[test]
fn what_is_valid_of_a_faulty_message_is_kept_for_the_template_check() {
    let faulty = |lines: &str| {
        let (mut items, _) = read_mail(mail(&with(lines))).expect("readable");
        items.swap_remove(0).expect_err("faulty")
    };
    let first = faulty("X-Waxwing-Foo: 1\nX-Waxwing-Data: {\"a\":1}");
    assert_eq!(first.template.expect("valid").as_str(), "welcome");
    assert_eq!(first.data.map(|it| Value::Object(it.parsed())), Some(json!({"a": 1})));
    assert!(first.faults[0].message.contains("-Idempotency-Key"), "the known names are listed");
    let second = faulty("X-Waxwing-Data: {\"a\":1}\nX-Waxwing-Data: {");
    assert!(second.data.is_none());
    assert!(second.faults[0].message.starts_with("the value is not valid JSON: "));
}

#[test]
fn a_field_that_is_single_may_not_be_repeated() {
    for name in ["Template", "From-Name", "Idempotency-Key", "Send-At", "Metadata-x"] {
        let value = if name == "Send-At" { "2027-01-15T09:00:00Z" } else { "a" };
        let line = format!("X-Waxwing-{name}: {value}");
        let first = if name == "Template" { "X-Other: 1" } else { &line };
        let found =
            faults(&with(&format!("{first}\n{}", line.to_uppercase().replace("T09", "t09"))));
        assert!(found.iter().any(|(_, code)| code == "repeated"), "{name}: {found:?}");
    }
}

#[test]
fn json_is_strict() {
    for (value, field, code) in [
        ("{\"a\":1,\"a\":2}", "X-Waxwing-Data", "malformed_json"),
        ("{\"a\":12345678901234567890}", "data.a", "malformed_json"),
        ("{\"a\":{\"b\":\"x\\u0000\"}}", "data.a.b", "nul"),
        ("\"text\"", "X-Waxwing-Data", "type"),
        ("", "X-Waxwing-Data", "malformed_json"),
    ] {
        let found = faults(&with(&format!("X-Waxwing-Data: {value}")));
        assert_eq!(found, pairs(&[(field, code)]), "{value}");
    }
    let deep = format!("X-Waxwing-Data: {}", "{\"a\":\n ".repeat(5_000));
    assert_eq!(faults(&with(&deep)), pairs(&[("X-Waxwing-Data", "malformed_json")]));
    let part = "Content-Type: application/json\n\n[1]";
    assert_eq!(faults(&with(part)), pairs(&[("X-Waxwing-Data", "type")]));
}
