//! A template's variables: JSON objects from several places, made one.

use serde_json::{Map, Value};

use crate::journey::accept::json;
use crate::journey::accept::refusal::Fault;

/// Where faults in the variables are.
const FIELD: &str = "X-Waxwing-Data";

/// Parses one object, strictly; `what` it is, for a fault.
pub fn object(text: &[u8], what: &str, faults: &mut Vec<Fault>) -> Option<Map<String, Value>> {
    match json::parse_called(text, what) {
        Ok(Value::Object(map)) => Some(map),
        Ok(_) => {
            faults.push(Fault::new(FIELD, "type", format!("{what} must be a JSON object")));
            None
        }
        Err(found) => {
            faults.extend(found.into_iter().map(|fault| named(&fault)));
            None
        }
    }
}

/// Puts `newer` over `older`. Objects are joined at every depth: a long object is split over
/// several fields because a line of a header is short, and a part of it must not delete another.
/// Everything else is replaced.
pub fn merge(older: &mut Map<String, Value>, newer: Map<String, Value>) {
    for (key, value) in newer {
        match (older.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                older.insert(key, value);
            }
        }
    }
}

/// A fault in one variable is named like over HTTP, a fault of the whole text by its field.
fn named(fault: &Fault) -> Fault {
    let field = match fault.field.as_str() {
        "" => FIELD.to_owned(),
        within => format!("data.{within}"),
    };
    Fault::new(&field, &fault.code, fault.message.clone())
}
