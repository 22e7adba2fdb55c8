//! The items of a value, and a property of an item, as Ruby's filters see them.

use crate::filter::Refused;
use crate::value::Value;

/// A range is expanded for a filter up to this many items.
const MAX_RANGE: i64 = 1_000_000;

/// As Ruby's filters see their input: arrays flat, an object as one item, `nil` as none.
pub fn items_of<'a>(it: &Value<'a>) -> Result<Vec<Value<'a>>, Refused> {
    match it {
        Value::Array(items) => {
            let mut out = Vec::with_capacity(items.len());
            flatten(items, &mut out);
            Ok(out)
        }
        Value::Nil | Value::Blank | Value::Empty => Ok(Vec::new()),
        Value::Range(from, to) => {
            if to.saturating_sub(*from) >= MAX_RANGE {
                return Err(Refused(format!("a range of more than {MAX_RANGE} items")));
            }
            Ok((*from..=*to).map(Value::Int).collect())
        }
        Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::Safe(_)
        | Value::Object(_)
        | Value::Loop(_) => Ok(vec![it.clone()]),
    }
}

fn flatten<'a>(items: &[Value<'a>], out: &mut Vec<Value<'a>>) {
    for it in items {
        if let Value::Array(inner) = it {
            flatten(inner, out);
        } else {
            out.push(it.clone());
        }
    }
}

/// `item[key]` as Ruby has it; `None` where the item has no `[]` at all (`nil`, `true`, a float).
pub fn property<'a>(item: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, Refused> {
    let name = key.as_str();
    match item {
        Value::Object(object) => {
            Ok(Some(name.and_then(|it| object.get(it)).cloned().unwrap_or(Value::Nil)))
        }
        Value::Loop(it) => Ok(Some(name.and_then(|name| it.property(name)).unwrap_or(Value::Nil))),
        // A string answers a part of itself.
        Value::Str(text) | Value::Safe(text) => Ok(match name {
            Some(part) if text.contains(part) => Some(key.clone()),
            Some(_) => Some(Value::Nil),
            None => None,
        }),
        // An integer answers one of its bits.
        Value::Int(it) => {
            let Value::Int(bit) = key else {
                return Err(Refused(format!("a number has no property `{}`", &*key.to_text())));
            };
            Ok(Some(Value::Int(it >> (*bit).clamp(0, 63) & 1)))
        }
        Value::Array(_) => Err(Refused("an array is not an object".to_owned())),
        Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Range(..) => Ok(None),
    }
}
