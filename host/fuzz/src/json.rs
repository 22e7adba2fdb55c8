//! The JSON of calls to the API: read strictly, and brought into its one form.

use serde_json::Value;

use crate::accept::json::{Body, Item, canonical, parse, parse_body};

pub fn check(input: &[u8]) {
    same_by_either_way(input);
    match parse(input) {
        Ok(value) => {
            assert!(!holds_nul(&value));
            // The same JSON, leniently read.
            assert_eq!(serde_json::from_slice::<Value>(input).ok().as_ref(), Some(&value));
            let text = canonical(&value);
            let again = parse(text.as_bytes()).expect("the canonical form is JSON");
            assert_eq!(again, value);
            assert_eq!(canonical(&again), text, "there is one canonical form");
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(!fault.code.is_empty() && !fault.message.is_empty());
                // A field is a path of names, and none of them holds the NUL that it is about.
                assert!(!fault.field.contains('\0'));
            }
        }
    }
}

/// The body of a send is read into fields and a text; what is wrong with it does not depend on the way.
fn same_by_either_way(input: &[u8]) {
    let told = |faults: Vec<crate::accept::refusal::Fault>| format!("{faults:?}");
    match (parse(input), parse_body(input)) {
        (Ok(value), Ok(body)) => {
            let wanted = value.get("data").filter(|it| it.is_object()).map(Value::to_string);
            let data = match body {
                Body::One(Item::Object { data: Some(data), .. }) => {
                    assert_eq!(data.members().count(), data.parsed().len());
                    Some(data.text().clone())
                }
                Body::One(_) | Body::Many(_) => None,
            };
            assert_eq!(data, wanted);
        }
        (Err(wanted), Err(found)) => assert_eq!(told(found), told(wanted)),
        (wanted, found) => panic!("{wanted:?}, but {found:?}"),
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(map) => map.iter().any(|(key, it)| key.contains('\0') || holds_nul(it)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
