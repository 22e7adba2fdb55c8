//! The visitor that holds the rules of all JSON here, whatever is made of what it reads.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// From 2^53 on a float has no exact whole numbers, so a long account number would be changed.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a number with a fraction or an exponent is beyond those that are kept as they are.
pub fn is_inexact(value: f64) -> bool {
    value.abs() >= EXACT
}

/// Whether a text or a name held a NUL, or a number would be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    Found,
}

/// A value without parts.
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// A text that stands in the body as it is, without escapes.
    Plain(&'a str),
}

/// What is made of what is read.
pub trait Kind: Sized {
    type Made;

    fn scalar(self, scalar: Scalar<'_>) -> Self::Made;

    fn list<'de, A: SeqAccess<'de>>(
        self,
        items: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Self::Made, A::Error>;

    fn object<'de, A: MapAccess<'de>>(
        self,
        entries: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Self::Made, A::Error>;
}

/// The rules that hold for every kind.
pub struct Strict<'a, K> {
    pub kind: K,
    pub flaw: &'a Cell<Flaw>,
}

pub fn note_nul(text: &str, flaw: &Cell<Flaw>) {
    if text.as_bytes().contains(&0) {
        flaw.set(Flaw::Found);
    }
}

pub fn stands_twice<E: Error>(name: &str) -> E {
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
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            // Which one it is does not matter: it is refused.
            Err(_) => self.visit_f64(EXACT),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<K::Made, E> {
        if is_inexact(value) {
            self.flaw.set(Flaw::Found);
        }
        Ok(self.kind.scalar(Scalar::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<K::Made, E> {
        note_nul(value, self.flaw);
        Ok(self.kind.scalar(Scalar::Text(value.into())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<K::Made, E> {
        note_nul(value, self.flaw);
        Ok(self.kind.scalar(Scalar::Plain(value)))
    }

    fn visit_string<E>(self, value: String) -> Result<K::Made, E> {
        note_nul(&value, self.flaw);
        Ok(self.kind.scalar(Scalar::Text(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<K::Made, A::Error> {
        self.kind.list(items, self.flaw)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<K::Made, A::Error> {
        self.kind.object(entries, self.flaw)
    }
}

/// A whole [`Value`].
pub struct Tree;

impl Kind for Tree {
    type Made = Value;

    fn scalar(self, scalar: Scalar<'_>) -> Value {
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Integer(value) => value.into(),
            Scalar::Float(value) => value.into(),
            Scalar::Text(value) => Value::String(value.into_owned()),
            Scalar::Plain(value) => Value::String(value.to_owned()),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(
        self,
        mut items: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { kind: Self, flaw })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        mut entries: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            note_nul(&name, flaw);
            let value = entries.next_value_seed(Strict { kind: Self, flaw })?;
            insert::<A::Error>(&mut map, name, value)?;
        }
        Ok(Value::Object(map))
    }
}

pub fn insert<E: Error>(map: &mut Map<String, Value>, name: String, value: Value) -> Result<(), E> {
    match map.entry(name) {
        Entry::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
        Entry::Occupied(place) => Err(stands_twice(place.key())),
    }
}
