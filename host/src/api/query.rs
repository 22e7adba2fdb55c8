//! Reads query strings; what cannot be read is answered 400 with every parameter that is at fault.

use std::fmt::{self, Display};

use axum::extract::FromRequestParts;
use http::Uri;
use http::request::Parts;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::problem::Problem;
use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Fault, Refusal};

const DEFAULT_PAGE_ITEMS: u32 = 50;
const MAX_PAGE_ITEMS: u32 = 500;

/// The parameters of a request.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        read(&parts.uri).map(Self)
    }
}

/// The query parameters of a request, as the type that the operation takes.
///
/// # Errors
/// Every parameter that is unknown, missing, given twice, or of another type.
pub fn read<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    parse(pairs(uri)?).map_err(|faults| Refusal::BadRequest { faults }.into())
}

/// The query parameters of a request as they were written, by name.
///
/// # Errors
/// It is no query of names and values.
pub fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = axum::extract::Query::try_from_uri(uri);
    let wanted = "the query is not of the form a=1&b=2";
    pairs.map(|it| it.0).map_err(|_| Refusal::fault("", "invalid", wanted))
}

/// serde stops at the first fault: so what is at fault is taken out, and the rest is read again.
fn parse<T: DeserializeOwned>(mut pairs: Vec<(String, String)>) -> Result<T, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    loop {
        let fault = match T::deserialize(MapAccessDeserializer::new(Pairs(&pairs))) {
            Ok(query) if faults.is_empty() => return Ok(query),
            Ok(_) => return Err(faults),
            Err(BadParameter(fault)) => fault,
        };
        let all = pairs.len();
        pairs.retain(|(name, _)| *name != fault.field);
        let is_absent = pairs.len() == all;
        // What was taken out is not missing.
        if !is_absent || faults.iter().all(|it| it.field != fault.field) {
            faults.push(fault);
        }
        if is_absent {
            return Err(faults);
        }
    }
}

/// What serde finds wrong with a parameter, in words of this server.
#[derive(Debug)]
struct BadParameter(Fault);

/// What is still to be read.
struct Pairs<'a>(&'a [(String, String)]);

/// The text of a parameter.
struct Value<'a>(&'a str);

impl Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for BadParameter {}

impl Error for BadParameter {
    fn custom<T: Display>(message: T) -> Self {
        Self(Fault::new("", "invalid", message.to_string()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("is no parameter here; there are {}", expected.join(", "));
        Self(Fault::new(field, "unknown", message))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Fault::new(field, "missing", "must be given"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(Fault::new(field, "invalid", "may be given once"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("must be {}", expected.join(" or ")))
    }
}

impl<'de> MapAccess<'de> for Pairs<'_> {
    type Error = BadParameter;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, BadParameter> {
        let Some((name, _)) = self.0.first() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, BadParameter> {
        let Some(((name, text), rest)) = self.0.split_first() else {
            return Err(BadParameter::custom("has no value"));
        };
        self.0 = rest;
        // A value does not know of which parameter it is.
        seed.deserialize(Value(text))
            .map_err(|BadParameter(fault)| BadParameter(Fault { field: name.clone(), ..fault }))
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = BadParameter;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadParameter> {
        visitor.visit_str(self.0)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadParameter> {
        let most = u32::MAX;
        let wanted = |_| BadParameter::custom(format_args!("must be a number from 0 to {most}"));
        visitor.visit_u32(self.0.parse().map_err(wanted)?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadParameter> {
        let wanted = |_| BadParameter::custom("must be true or false");
        visitor.visit_bool(self.0.parse().map_err(wanted)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadParameter> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BadParameter> {
        visitor.visit_enum(StrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// How many things a page has.
///
/// # Errors
/// None are asked for.
pub fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    match asked.unwrap_or(DEFAULT_PAGE_ITEMS) {
        0 => Err(Refusal::fault("limit", "invalid", "must be at least 1").into()),
        some => Ok(some.min(MAX_PAGE_ITEMS)),
    }
}

/// The faults of a query whose parameters are read one by one.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// A parameter that may be absent.
    pub fn read<T, E: std::fmt::Display>(
        &mut self,
        field: &str,
        text: Option<&str>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(text?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.push(Fault::new(field, "invalid", error.to_string()));
                None
            }
        }
    }

    /// A moment that may be absent.
    pub fn moment(&mut self, field: &str, text: Option<&str>) -> Option<Timestamp> {
        let wanted = "must be RFC 3339, as in 2026-12-24T18:00:00Z";
        self.read(field, text, |text| Timestamp::parse_rfc3339(text).ok_or(wanted))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::id::DomainId;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Asked {
        calls: u32,
        limit: Option<u32>,
        after: Option<DomainId>,
        #[serde(default)]
        only_refusals: bool,
    }

    fn asked(query: &str) -> Result<Asked, Vec<Fault>> {
        let uri: Uri = format!("/v1/things?{query}").parse().expect("an address");
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
        parse(pairs.expect("a query").0)
    }

    #[test]
    fn a_sound_query_is_read() {
        let id = "dom_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let asked = asked(&format!("calls=3&limit=7&after={id}&onlyRefusals=true")).expect("sound");
        assert_eq!((asked.calls, asked.limit, asked.only_refusals), (3, Some(7), true));
        assert_eq!(asked.after.map(|it| it.to_string()).as_deref(), Some(id));
    }

    #[test]
    fn every_fault_of_a_query_is_named_at_once_and_in_our_words() {
        let faults = asked("colour=red&limit=many&after=x&onlyRefusals=1&calls=1&calls=2");
        let faults = faults.expect_err("all of it is at fault");
        let mut named: Vec<(&str, &str)> =
            faults.iter().map(|it| (it.field.as_str(), it.code.as_str())).collect();
        named.sort_unstable();
        let invalid = ["after", "calls", "limit", "onlyRefusals"].map(|it| (it, "invalid"));
        assert_eq!(named, [&invalid[..2], &[("colour", "unknown")], &invalid[2..]].concat());
        for fault in &faults {
            for word in ["expected", "invalid type", "invalid digit", "field"] {
                assert!(!fault.message.contains(word), "{fault:?}");
            }
        }
        let missing = asked("limit=1").expect_err("calls are not there");
        assert_eq!((missing[0].field.as_str(), missing[0].code.as_str()), ("calls", "missing"));
    }
}
