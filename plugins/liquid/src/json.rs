//! JSON text to values and back. Strings without escapes stay slices of the text.

use std::fmt;
use std::rc::Rc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::value::{Key, Object, Str, Value};

/// Reads JSON text; more than 128 levels are an error.
///
/// # Errors
/// The text is not JSON.
pub fn read(text: &str) -> Result<Value<'_>, serde_json::Error> {
    serde_json::from_str(text)
}

/// Writes a value as JSON.
pub fn write(it: &Value<'_>, out: &mut String) {
    match it {
        Value::Blank | Value::Empty => out.push_str("\"\""),
        Value::Bool(_) | Value::Int(_) => it.print(out),
        Value::Float(number) if number.is_finite() => it.print(out),
        Value::Nil | Value::Loop(_) | Value::Float(_) => out.push_str("null"),
        Value::Str(text) | Value::Safe(text) => quote(text, out),
        Value::Range(..) => {
            let mut text = String::new();
            it.print(&mut text);
            quote(&text, out);
        }
        Value::Array(items) => {
            out.push('[');
            for (i, it) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write(it, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (i, (key, it)) in object.entries().iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                quote(key, out);
                out.push(':');
                write(it, out);
            }
            out.push('}');
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => put!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value<'de>, E> {
        Ok(Value::Int(it))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number over i64 is kept as a float")]
    fn visit_u64<E>(self, it: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(it).map_or(Value::Float(it as f64), Value::Int))
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(it))
    }

    fn visit_str<E>(self, it: &str) -> Result<Value<'de>, E> {
        Ok(Value::Str(it.to_owned().into()))
    }

    fn visit_borrowed_str<E>(self, it: &'de str) -> Result<Value<'de>, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(it) = seq.next_element()? {
            items.push(it);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Object(Rc::new(Object::new(entries))))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyReader;

        impl<'de> Visitor<'de> for KeyReader {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, it: &str) -> Result<Key<'de>, E> {
                Ok(Key::new(it.to_owned().into()))
            }

            fn visit_borrowed_str<E>(self, it: &'de str) -> Result<Key<'de>, E> {
                Ok(Key::new(Str::Borrowed(it)))
            }
        }

        deserializer.deserialize_str(KeyReader)
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn objects_keep_their_order_and_the_last_duplicate_wins() {
        let many = (0..40).map(|i| format!("\"k{i}\":{i},")).collect::<Vec<_>>().concat();
        for (text, expected) in [
            (r#"{"b":1,"a":2,"b":3}"#.to_owned(), r#"{"b":3,"a":2}"#.to_owned()),
            (
                format!("{{{many}\"k0\":9}}"),
                format!("{{{}}}", many.replace("\"k0\":0", "\"k0\":9").trim_end_matches(',')),
            ),
        ] {
            let mut out = String::new();
            write(&read(&text).expect("JSON"), &mut out);
            assert_eq!(out, expected);
        }
    }

    /// The same digits come out that went in.
    #[test]
    fn numbers_of_seventeen_digits_are_read_exactly() {
        let mut digits = 12_345_678_901_234_567_u64;
        for i in 0..2_000_u64 {
            digits = 10_000_000_000_000_000
                + digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i)
                    % 89_999_999_999_999_999;
            for text in [format!("0.{digits}"), format!("{digits}e-9"), format!("{digits}e-30")] {
                let exact: f64 = text.parse().expect("a number");
                let (mut read_out, mut wanted) = (String::new(), String::new());
                write(&read(&text).expect("JSON"), &mut read_out);
                write(&crate::value::Value::Float(exact), &mut wanted);
                assert_eq!(read_out, wanted, "{text}");
            }
        }
    }

    #[test]
    fn deep_json_is_refused() {
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(120), "]".repeat(120))).is_ok());
    }
}
