//! Lists of pairs, as objects.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::conversion::JsonForm;
use crate::plugin::runtime::bindings::types::Pair;

/// A list of pairs as an object; its order stays.
#[derive(Debug, Default)]
pub struct Pairs(Vec<Pair>);

impl JsonForm for Pairs {
    type Of = Vec<Pair>;

    fn of(it: Vec<Pair>) -> Self {
        Self(it)
    }

    fn back(self) -> Vec<Pair> {
        self.0
    }
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|pair| (&pair.key, &pair.value)))
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, value)) = map.next_entry()? {
            pairs.push(Pair { key, value });
        }
        Ok(Pairs(pairs))
    }
}
