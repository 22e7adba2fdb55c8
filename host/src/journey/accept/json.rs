//! Strict JSON: a key that stands twice, or a NUL in a text, is a fault and not a surprise.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::refusal::Fault;

/// Parses a body.
///
/// # Errors
/// One fault with line and column (`malformed_json`; also a number that would be changed), or every
/// field with a NUL (`nul`).
pub fn parse(body: &[u8]) -> Result<Value, Vec<Fault>> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let parsed = Strict.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    let value = parsed.map_err(|error| {
        let message = format!("the body is not valid JSON: {error}");
        vec![Fault::new("", "malformed_json", message)]
    })?;
    let mut faults = Vec::new();
    find_nul(&value, &mut String::new(), &mut faults);
    if faults.is_empty() { Ok(value) } else { Err(faults) }
}

/// The canonical text of a value: keys sorted, no white space.
#[must_use]
pub fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                Value::Object(entries.into_iter().map(|(k, v)| (k.clone(), sorted(v))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    sorted(value).to_string()
}

fn find_nul(value: &Value, path: &mut String, faults: &mut Vec<Fault>) {
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(Fault::new(path, "nul", "a NUL character cannot be sent by e-mail"));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(path, &format!("[{index}]"), |path| find_nul(item, path, faults));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                if key.contains('\0') {
                    faults.push(Fault::new(path, "nul", "a name holds a NUL character"));
                    continue;
                }
                let name = if path.is_empty() { key.clone() } else { format!(".{key}") };
                within(path, &name, |path| find_nul(item, path, faults));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn within(path: &mut String, step: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    work(path);
    path.truncate(length);
}

/// From 2^53 on a float has no exact whole numbers, so a long account number would be changed.
const EXACT: f64 = 9_007_199_254_740_992.0;
const TOO_LARGE: &str = "a number is too large to be kept exactly; send it as a string";

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::from).map_err(|_| E::custom(TOO_LARGE))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.abs() < EXACT { Ok(value.into()) } else { Err(E::custom(TOO_LARGE)) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict)?;
            if map.contains_key(&key) {
                let message =
                    format!("the name `{}` stands twice in one object", key.escape_debug());
                return Err(serde::de::Error::custom(message));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str) -> Option<String> {
        parse(body.as_bytes()).err().map(|faults| faults[0].code.clone())
    }

    #[test]
    fn hostile_json_is_refused_and_does_not_overflow() {
        for body in [
            "",
            "{",
            "{\"a\":1,\"a\":2}",
            "{\"a\":\"\\ud800\"}",
            "{} {}",
            "{\"a\":NaN}",
            "\u{feff}{}",
        ] {
            assert_eq!(code(body).as_deref(), Some("malformed_json"), "{body}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(code(&deep).as_deref(), Some("malformed_json"));
        assert!(parse(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn a_number_is_kept_exactly_or_refused() {
        for exact in ["9223372036854775807", "-9223372036854775808", "0.5", "9007199254740993"] {
            let value = parse(exact.as_bytes()).expect("exact");
            assert_eq!(value.to_string(), exact);
        }
        for changed in ["9223372036854775808", "1e300", "123456789012345678901234567890"] {
            assert_eq!(code(changed).as_deref(), Some("malformed_json"), "{changed}");
        }
    }

    #[test]
    fn a_nul_is_named_with_its_place() {
        let faults = parse(br#"{"data":{"items":[{"name":"a\u0000b"}]}}"#).expect_err("a NUL");
        assert_eq!(faults[0].field, "data.items[0].name");
    }

    #[test]
    fn the_canonical_text_does_not_depend_on_order_or_white_space() {
        let one = parse(br#"{"b":[1,{"d":1,"c":2}],"a":null}"#).expect("valid");
        let two = parse(br#" {"a":null, "b":[1,{"c":2,"d":1}]} "#).expect("valid");
        assert_eq!(canonical(&one), canonical(&two));
    }
}
