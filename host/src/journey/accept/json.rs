//! Strict JSON: a key that stands twice, or a NUL in a text, is a fault and not a surprise.
//!
//! One visitor holds the rules, whatever is made of what it reads: a [`Value`], or text ([`object`]).

pub mod object;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::refusal::Fault;
use object::ObjectText;

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
/// One fault with line and column (`malformed_json`; also a number that would be changed), or every
/// field with a NUL (`nul`).
pub fn parse(body: &[u8]) -> Result<Value, Vec<Fault>> {
    let (value, nul) = read(body, Tree)?;
    if nul == Nul::None {
        return Ok(value);
    }
    let mut faults = Vec::new();
    find_nul(&value, &mut String::new(), &mut faults);
    Err(faults)
}

/// Parses a body that sends one message, or several.
///
/// # Errors
/// As for [`parse`].
pub fn parse_body(text: &[u8]) -> Result<Body, Vec<Fault>> {
    match read(text, Whole)? {
        (body, Nul::None) => Ok(body),
        // Where it stands is seen in a whole value only.
        (_, Nul::Found) => parse(text).map(Body::from),
    }
}

fn read<K: Kind>(text: &[u8], kind: K) -> Result<(K::Made, Nul), Vec<Fault>> {
    let nul = Cell::new(Nul::None);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let made = Strict { kind, nul: &nul }.deserialize(&mut deserializer).and_then(|made| {
        deserializer.end()?;
        Ok(made)
    });
    let made = made.map_err(|error| {
        let reason = if error.is_eof() {
            format!("it breaks off at line {}, column {}", error.line(), error.column())
        } else {
            error.to_string()
        };
        let message = format!("the body is not valid JSON: {reason}");
        vec![Fault::new("", "malformed_json", message)]
    })?;
    Ok((made, nul.get()))
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

/// Whether a text or a name held a NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nul {
    None,
    Found,
}

/// A value without parts.
enum Scalar<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'a, str>),
}

/// What is made of what is read.
trait Kind: Sized {
    type Made;

    fn scalar(self, scalar: Scalar<'_>) -> Self::Made;

    fn list<'de, A: SeqAccess<'de>>(
        self,
        items: A,
        nul: &Cell<Nul>,
    ) -> Result<Self::Made, A::Error>;

    fn object<'de, A: MapAccess<'de>>(
        self,
        entries: A,
        nul: &Cell<Nul>,
    ) -> Result<Self::Made, A::Error>;
}

/// The rules that hold for every kind.
struct Strict<'a, K> {
    kind: K,
    nul: &'a Cell<Nul>,
}

fn note_nul(text: &str, nul: &Cell<Nul>) {
    if text.as_bytes().contains(&0) {
        nul.set(Nul::Found);
    }
}

fn stands_twice<E: Error>(name: &str) -> E {
    E::custom(format!("the name `{}` stands twice in one object", name.escape_debug()))
}

impl<'de, K: Kind> DeserializeSeed<'de> for Strict<'_, K> {
    type Value = K::Made;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Made, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: Kind> Visitor<'de> for Strict<'_, K> {
    type Value = K::Made;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<K::Made, E> {
        Ok(self.kind.scalar(Scalar::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<K::Made, E> {
        Ok(self.kind.scalar(Scalar::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<K::Made, E> {
        Ok(self.kind.scalar(Scalar::Integer(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<K::Made, E> {
        let value = i64::try_from(value).map_err(|_| E::custom(TOO_LARGE))?;
        Ok(self.kind.scalar(Scalar::Integer(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<K::Made, E> {
        if value.abs() < EXACT {
            Ok(self.kind.scalar(Scalar::Float(value)))
        } else {
            Err(E::custom(TOO_LARGE))
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<K::Made, E> {
        note_nul(value, self.nul);
        Ok(self.kind.scalar(Scalar::Text(value.into())))
    }

    fn visit_string<E>(self, value: String) -> Result<K::Made, E> {
        note_nul(&value, self.nul);
        Ok(self.kind.scalar(Scalar::Text(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<K::Made, A::Error> {
        self.kind.list(items, self.nul)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<K::Made, A::Error> {
        self.kind.object(entries, self.nul)
    }
}

/// A whole [`Value`].
struct Tree;

impl Kind for Tree {
    type Made = Value;

    fn scalar(self, scalar: Scalar<'_>) -> Value {
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Integer(value) => value.into(),
            Scalar::Float(value) => value.into(),
            Scalar::Text(value) => Value::String(value.into_owned()),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(
        self,
        mut items: A,
        nul: &Cell<Nul>,
    ) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { kind: Self, nul })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        mut entries: A,
        nul: &Cell<Nul>,
    ) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            note_nul(&name, nul);
            let value = entries.next_value_seed(Strict { kind: Self, nul })?;
            insert::<A::Error>(&mut map, name, value)?;
        }
        Ok(Value::Object(map))
    }
}

fn insert<E: Error>(map: &mut Map<String, Value>, name: String, value: Value) -> Result<(), E> {
    match map.entry(name) {
        Entry::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
        Entry::Occupied(place) => Err(stands_twice(place.key())),
    }
}

/// A message, or a list of them.
struct Whole;

impl Kind for Whole {
    type Made = Body;

    fn scalar(self, scalar: Scalar<'_>) -> Body {
        Body::One(Message.scalar(scalar))
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut items: A, nul: &Cell<Nul>) -> Result<Body, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { kind: Message, nul })? {
            list.push(item);
        }
        Ok(Body::Many(list))
    }

    fn object<'de, A: MapAccess<'de>>(self, entries: A, nul: &Cell<Nul>) -> Result<Body, A::Error> {
        Message.object(entries, nul).map(Body::One)
    }
}

/// A message of a request.
struct Message;

impl Kind for Message {
    type Made = Item;

    fn scalar(self, scalar: Scalar<'_>) -> Item {
        Item::Other(Tree.scalar(scalar))
    }

    fn list<'de, A: SeqAccess<'de>>(self, items: A, nul: &Cell<Nul>) -> Result<Item, A::Error> {
        Tree.list(items, nul).map(Item::Other)
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        mut entries: A,
        nul: &Cell<Nul>,
    ) -> Result<Item, A::Error> {
        let (mut fields, mut data) = (Map::new(), None);
        while let Some(name) = entries.next_key::<String>()? {
            note_nul(&name, nul);
            if name != "data" {
                let value = entries.next_value_seed(Strict { kind: Tree, nul })?;
                insert::<A::Error>(&mut fields, name, value)?;
                continue;
            }
            let read = entries.next_value_seed(Strict { kind: object::Printed, nul })?;
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
