use serde_json::{Value, json};

use super::look::{MAX_DATA_FAULTS, MAX_UNREAD_CHARS};
use super::*;
use crate::template::variable::{VariableFormat, VariableType};

/// Of a text such as `items[].price:number/money`, or `user!:object` of what is declared only.
fn variable(text: &str) -> Variable {
    let (path, said) = text.split_once(':').unwrap_or((text, ""));
    let (value_type, format) = said.split_once('/').unwrap_or((said, ""));
    Variable {
        path: path.trim_end_matches('!').to_owned(),
        required: false,
        value_type: VariableType::from_name(value_type),
        format: VariableFormat::from_name(format),
        declared_only: path.ends_with('!'),
    }
}

fn check(variables: &[&str], data: &Value) -> DataCheck {
    let variables: Vec<Variable> = variables.iter().map(|it| variable(it)).collect();
    let object = data.as_object().expect("an object");
    let members: Vec<(String, String)> =
        object.iter().map(|(name, value)| (json!(name).to_string(), value.to_string())).collect();
    Contract::of(&variables).check(members.iter().map(|(name, it)| (name.as_str(), it.as_str())))
}

fn faults(variables: &[&str], data: &Value) -> Vec<String> {
    let found = check(variables, data).faults.into_iter();
    found
        .map(|it| match it.wanted {
            Wanted::Type(wanted) => format!("{}:{}", it.path, wanted.as_str()),
            Wanted::Format(wanted) => format!("{}/{}", it.path, wanted.as_str()),
        })
        .collect()
}

#[test]
fn values_of_another_type_than_declared_are_named_with_their_place() {
    let variables = [
        "total:string",
        "items:array",
        "items[].price:number",
        "items[].tags[]:string",
        "user.name:string",
        "paid:boolean",
        "anything",
    ];
    let data = json!({
        "total": 12,
        "items": [{"price": 1, "tags": ["a", 1]}, {"price": "2"}, {}, 3, {"price": null}],
        "user": {"name": []}, "paid": null, "anything": [1],
    });
    assert_eq!(
        faults(&variables, &data),
        ["total:string", "items[0].tags[1]:string", "items[1].price:number", "user.name:string"]
    );
    assert_eq!(faults(&variables, &json!({"items": {"price": 1}})), ["items:array"]);
    assert!(faults(&variables, &json!({})).is_empty());
    for (wanted, other) in [
        ("string", json!(-1.5)),
        ("number", json!("1")),
        ("boolean", json!({})),
        ("array", json!(true)),
        ("object", json!([])),
    ] {
        assert_eq!(faults(&[&format!("a:{wanted}")], &json!({"a": other})).len(), 1, "{wanted}");
    }
}

#[test]
fn formats_are_held_at_every_depth_and_a_wrong_type_is_told_once() {
    let variables = [
        "on:string/date",
        "user.mail:string/email",
        "items",
        "items[].price:number/money",
        "items[].link:string/url",
        "items[].currency:string/currency",
    ];
    let good = json!({
        "on": "2026-12-24", "user": {"mail": "ada@example.com"},
        "items": [{"price": -1299, "link": "https://example.com/", "currency": "EUR"}, {"price": null}],
    });
    assert!(faults(&variables, &good).is_empty());
    let bad = json!({
        "on": "soon", "user": {"mail": ""},
        "items": [
            {"price": 12.99, "link": "javascript:alert(1)", "currency": "eur"},
            {"price": 12.5}, {"price": 12.0}, {"price": 9_223_372_036_854_775_808_u64}, {"price": "1299"}, {"link": 1},
        ],
    });
    assert_eq!(
        faults(&variables, &bad),
        [
            "on/date",
            "user.mail/email",
            "items[0].price/money",
            "items[0].link/url",
            "items[0].currency/currency",
            "items[1].price/money",
            "items[3].price/money",
            "items[4].price:number",
            "items[5].link:string",
        ]
    );
}

#[test]
fn what_nothing_reads_is_named_and_what_may_be_read_is_not() {
    let variables = ["user.name", "items", "items[].price", "whole", "rows[0].a", "list.size", "ü"];
    let data = json!({
        "user": {"name": "Ada", "age": 1, "a.b": 1}, "items": [{"price": 1, "other": 2}],
        "whole": {"any": 1}, "rows": [{"b": 1}], "list": {"a": 1}, "ü": 1,
        "unread": {"a": 1}, "a.b": 1, "quo\"te\u{0}": 1,
    });
    assert_eq!(check(&variables, &data).unread, ["user.age", "items[].other", "unread", "quo\"te"]);
    // Types do not change what is read.
    let typed =
        ["user!:object", "user.name:string", "items:array", "items[].price:number", "whole:object"];
    let data = json!({
        "user": {"name": "Ada", "age": 1}, "items": [{"price": 1, "other": 2}], "whole": {"any": 1},
    });
    assert_eq!(check(&typed, &data).unread, ["user.age", "items[].other"]);
}

#[test]
fn an_unread_member_of_items_is_named_once_unless_items_are_read_whole() {
    let data = json!({"items": [
        {"price": 1, "other": 2, "tags": [{"name": "a", "color": "red"}]},
        {"price": 2, "other": 3, "more": 4, "tags": [{"color": "blue"}]},
        5, null, [],
    ]});
    let unread = |variables: &[&str]| check(variables, &data).unread;
    let looped = ["items", "items[].price", "items[].tags", "items[].tags[].name"];
    assert_eq!(unread(&looped), ["items[].other", "items[].tags[].color", "items[].more"]);
    for also in ["items[]", "items.first.x", "items[0].x", "items[-1]"] {
        let variables: Vec<&str> = looped.iter().copied().chain([also]).collect();
        assert!(unread(&variables).is_empty(), "{also}");
    }
    let sized = ["items.size", "items[].price", "items[].tags"];
    assert_eq!(unread(&sized), ["items[].other", "items[].more"]);
    // What is declared of items that are read as they are does not make others unread.
    assert!(unread(&["items", "items[].price!:number"]).is_empty());
    // A loop over an object reads all of it.
    let object = json!({"of": {"a": 1, "b": 2}});
    assert!(check(&["of", "of[].x", "of.a"], &object).unread.is_empty());
}

#[test]
fn much_that_is_wrong_or_unread_is_told_within_bounds() {
    let many: Vec<Value> = (0..1_000).map(|_| json!("x")).collect();
    assert_eq!(faults(&["l[]:number"], &json!({"l": many})).len(), MAX_DATA_FAULTS);
    let names: serde_json::Map<String, Value> =
        (0..100).map(|it| (format!("{it}{}", "x".repeat(500)), json!(1))).collect();
    let unread = check(&["a"], &Value::Object(names)).unread;
    assert_eq!(unread.len(), MAX_UNREAD_NAMED + 1);
    assert!(unread.iter().all(|it| it.chars().count() == MAX_UNREAD_CHARS));
}
