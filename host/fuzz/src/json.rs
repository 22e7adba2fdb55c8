//! The JSON of calls to the API: read strictly, and brought into its one form.

use serde_json::Value;

use crate::accept::json::{canonical, parse};

pub fn check(input: &[u8]) {
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

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(map) => map.iter().any(|(key, it)| key.contains('\0') || holds_nul(it)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
