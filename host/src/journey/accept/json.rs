//! Strict JSON: a key that stands twice, a NUL in a text or a number that would be changed is a fault and not a surprise.
//!
//! One visitor holds the rules, whatever is made of what it reads: a [`Value`], or text ([`object`]).

pub mod object;
mod strict;

use std::cell::Cell;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};
use serde_json::{Map, Value};

use super::refusal::Fault;
use object::ObjectText;
use strict::{Flaw, Kind, Scalar, Strict, Tree, insert, is_inexact, note_nul, stands_twice};

/// What a text is called where nobody says otherwise.
const BODY: &str = "the body";

/// The body of a request that sends.
#[derive(Debug)]
pub enum Body {
    One(Item),
    Many(Vec<Item>),
}

/// A message as its sender wrote it.
#[derive(Debug)]
pub enum Item {
    /// Its fields; `data` stands apart if it is an object, as text that nobody has to print again.
    Object { fields: Map<String, Value>, data: Option<ObjectText> },
    /// Not an object.
    Other(Value),
}

/// Parses a body.
///
/// # Errors
/// One fault with line and column (`malformed_json`), or every field with a NUL (`nul`) or with a number that would be
/// changed (`malformed_json`).
pub fn parse(body: &[u8]) -> Result<Value, Vec<Fault>> {
    parse_called(body, BODY)
}

/// The same; faults of the whole text call it `what`.
pub fn parse_called(text: &[u8], what: &str) -> Result<Value, Vec<Fault>> {
    let (value, flaw) = read(text, Tree, what)?;
    if flaw == Flaw::None {
        return Ok(value);
    }
    let mut faults = Vec::new();
    find_flaws(&value, &mut String::new(), &mut faults);
    Err(faults)
}

/// Parses a body that sends one message, or several.
pub fn parse_body(text: &[u8]) -> Result<Body, Vec<Fault>> {
    match read(text, Whole { octets: text.len() }, BODY)? {
        (body, Flaw::None) => Ok(body),
        // Where it stands is seen in a whole value only.
        (_, Flaw::Found) => parse(text).map(Body::from),
    }
}

fn read<K: Kind>(text: &[u8], kind: K, what: &str) -> Result<(K::Made, Flaw), Vec<Fault>> {
    let flaw = Cell::new(Flaw::None);
    // One look at all of it costs less than one at each text.
    let Ok(text) = str::from_utf8(text) else { return Err(not_utf8(text, what)) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let made = Strict { kind, flaw: &flaw }.deserialize(&mut deserializer).and_then(|made| {
        deserializer.end()?;
        Ok(made)
    });
    Ok((made.map_err(|error| malformed(&error, what))?, flaw.get()))
}

fn not_utf8(text: &[u8], what: &str) -> Vec<Fault> {
    malformed(&serde_json::from_slice::<Value>(text).expect_err("JSON is UTF-8"), what)
}

fn malformed(error: &serde_json::Error, what: &str) -> Vec<Fault> {
    let reason = if error.is_eof() {
        format!("it breaks off at line {}, column {}", error.line(), error.column())
    } else {
        error.to_string()
    };
    let message = format!("{what} is not valid JSON: {reason}");
    vec![Fault::new("", "malformed_json", message)]
}

impl From<Value> for Body {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(items) => Self::Many(items.into_iter().map(Item::from).collect()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => Self::One(value.into()),
        }
    }
}

/// As one message: a list is none.
impl From<Body> for Item {
    fn from(body: Body) -> Self {
        match body {
            Body::One(item) => item,
            Body::Many(_) => Self::Other(Value::Array(Vec::new())),
        }
    }
}

impl From<Value> for Item {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self::Object { fields, data: None },
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => Self::Other(other),
        }
    }
}

/// The JSON type of a value with its article, for texts of faults: `a number`.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The fault of a whole text, `what` it is, that is JSON and no object.
#[must_use]
pub fn not_an_object(what: &str, found: &Value) -> Fault {
    Fault::new("", "type", format!("{what} must be a JSON object, not {}", kind_of(found)))
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

fn find_flaws(value: &Value, path: &mut String, faults: &mut Vec<Fault>) {
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(Fault::new(path, "nul", "a NUL character cannot be sent by e-mail"));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(path, &format!("[{index}]"), |path| find_flaws(item, path, faults));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                if key.contains('\0') {
                    faults.push(Fault::new(path, "nul", "a name holds a NUL character"));
                    continue;
                }
                let name = if path.is_empty() { key.clone() } else { format!(".{key}") };
                within(path, &name, |path| find_flaws(item, path, faults));
            }
        }
        Value::Number(number) if number.is_f64() && number.as_f64().is_some_and(is_inexact) => {
            let message = "the number is too large to be kept exactly; send it as a string";
            faults.push(Fault::new(path, "malformed_json", message));
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

/// A message, or a list of them, in a body of so many octets.
struct Whole {
    octets: usize,
}

impl Kind for Whole {
    type Made = Body;

    fn scalar(self, scalar: Scalar<'_>) -> Body {
        Body::One(Message { room: 0 }.scalar(scalar))
    }

    fn list<'de, A: SeqAccess<'de>>(
        self,
        mut items: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Body, A::Error> {
        let mut list = Vec::new();
        let kind = Message { room: 0 };
        while let Some(item) = items.next_element_seed(Strict { kind, flaw })? {
            list.push(item);
        }
        Ok(Body::Many(list))
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        entries: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Body, A::Error> {
        Message { room: self.octets }.object(entries, flaw).map(Body::One)
    }
}

/// A message of a request, whose data is expected to have up to so many octets.
#[derive(Clone, Copy)]
struct Message {
    room: usize,
}

impl Kind for Message {
    type Made = Item;

    fn scalar(self, scalar: Scalar<'_>) -> Item {
        Item::Other(Tree.scalar(scalar))
    }

    fn list<'de, A: SeqAccess<'de>>(self, items: A, flaw: &Cell<Flaw>) -> Result<Item, A::Error> {
        Tree.list(items, flaw).map(Item::Other)
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        mut entries: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Item, A::Error> {
        let (mut fields, mut data) = (Map::new(), None);
        while let Some(name) = entries.next_key::<String>()? {
            note_nul(&name, flaw);
            if name != "data" {
                let value = entries.next_value_seed(Strict { kind: Tree, flaw })?;
                insert::<A::Error>(&mut fields, name, value)?;
                continue;
            }
            let kind = object::Printed { room: self.room };
            let read = entries.next_value_seed(Strict { kind, flaw })?;
            if data.is_some() || fields.contains_key(&name) {
                return Err(stands_twice(&name));
            }
            match read {
                Ok(object) => data = Some(object),
                Err(value) => insert::<A::Error>(&mut fields, name, value)?,
            }
        }
        Ok(Item::Object { fields, data })
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
        for changed in [
            "9223372036854775808",
            "1e300",
            "-9007199254740993.0",
            "123456789012345678901234567890",
        ] {
            assert_eq!(code(changed).as_deref(), Some("malformed_json"), "{changed}");
            let body = format!(r#"[{{"data":{{"n":1.5,"a":[{{"b":{changed}}}]}}}}]"#);
            for faults in [parse(body.as_bytes()).err(), parse_body(body.as_bytes()).err()] {
                let fields: Vec<String> = faults.into_iter().flatten().map(|it| it.field).collect();
                assert_eq!(fields, ["[0].data.a[0].b"], "{changed}");
            }
        }
    }

    #[test]
    fn what_is_no_object_is_told_its_kind() {
        let message = |it: Value| not_an_object("the body", &it).message;
        assert_eq!(message(Value::Null), "the body must be a JSON object, not null");
        assert_eq!(message(1.into()), "the body must be a JSON object, not a number");
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
