//! The fields of requests about templates: all faults at once, and for an unknown one that which was meant.

use std::fmt::Display;
use std::str::FromStr;

use http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::api::problem::Problem;
use crate::authoring::preview::PreviewOf;
use crate::authoring::{self};
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::message::address::EmailAddress;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

pub struct Fields<'a> {
    body: &'a Value,
    faults: Vec<Fault>,
}

impl<'a> Fields<'a> {
    pub fn of(body: &'a Value) -> Result<Self, Refusal> {
        if !body.is_object() {
            return Err(Refusal::bad_request(vec![not_an_object("the body", body)]));
        }
        Ok(Self { body, faults: Vec::new() })
    }

    pub fn fault(&mut self, field: &str, code: &str, message: &str) {
        self.faults.push(Fault::new(field, code, message));
    }

    pub fn text(&mut self, field: &str) -> Option<String> {
        match &self.body[field] {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.fault(field, "type", "must be a string");
                None
            }
        }
    }

    pub fn parsed<T: FromStr<Err: Display>>(&mut self, field: &str) -> Option<T> {
        match self.text(field)?.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.fault(field, "invalid", &format!("{error}"));
                None
            }
        }
    }

    /// A slug that must be there.
    pub fn slug(&mut self, field: &str) -> Option<Slug> {
        if self.body[field].is_null() {
            self.fault(field, "missing", "is required, as in password-reset");
        }
        self.parsed(field)
    }

    pub fn flag(&mut self, field: &str) -> bool {
        match &self.body[field] {
            Value::Bool(it) => *it,
            Value::Null => false,
            Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.fault(field, "type", "must be true or false");
                false
            }
        }
    }

    /// A revision that must be there.
    pub fn revision(&mut self, field: &str) -> Option<u64> {
        let revision = self.body[field].as_u64().filter(|it| *it > 0);
        if revision.is_none() {
            let code = if self.body[field].is_null() { "missing" } else { "invalid" };
            self.fault(field, code, "must be a revision, from 1");
        }
        revision
    }

    pub fn object(&mut self, field: &str) -> Option<Map<String, Value>> {
        match &self.body[field] {
            Value::Object(object) => Some(object.clone()),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::String(_) => {
                self.fault(field, "type", "must be an object");
                None
            }
        }
    }

    /// Addresses, of which one must be there.
    pub fn addresses(&mut self, field: &str, most: usize) -> Vec<EmailAddress> {
        let items = self.body[field].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() || items.len() > most {
            self.fault(field, "invalid", &format!("must be an array of 1 to {most} addresses"));
            return Vec::new();
        }
        let mut addresses = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.as_str().map(str::parse::<EmailAddress>) {
                Some(Ok(address)) => addresses.push(address),
                Some(Err(error)) => {
                    self.fault(&format!("{field}[{index}]"), "invalid", &error.to_string());
                }
                None => self.fault(&format!("{field}[{index}]"), "type", "must be a string"),
            }
        }
        addresses
    }

    /// A source; its faults are named below the field.
    pub fn source(&mut self, field: &str, kind: TemplateKind) -> Option<TemplateSource> {
        let value = &self.body[field];
        if value.is_null() {
            return None;
        }
        match authoring::source(value, kind) {
            Ok(source) => Some(source),
            Err(faults) => {
                let below = |it: Fault| {
                    let dot = if it.field.is_empty() { "" } else { "." };
                    Fault { field: format!("{field}{dot}{}", it.field), ..it }
                };
                self.faults.extend(faults.into_iter().map(below));
                None
            }
        }
    }

    /// `draft`, `published` or a revision.
    pub fn of_source(&mut self, field: &str) -> Option<PreviewOf> {
        let text = self.text(field)?;
        PreviewOf::from_word(&text).map_err(|message| self.fault(field, "invalid", message)).ok()
    }

    /// There are no other members.
    pub fn only(&mut self, known: &[&str]) {
        let message = format!("is not known; known are {}", known.join(", "));
        let members = self.body.as_object().into_iter().flat_map(Map::keys);
        for member in members.filter(|it| !known.contains(&it.as_str())).take(50) {
            self.faults.push(Fault::new(member, "unknown", &*message));
        }
    }

    pub fn end<T>(self, wanted: Option<T>) -> Result<T, Problem> {
        match wanted {
            Some(wanted) if self.faults.is_empty() => Ok(wanted),
            Some(_) | None => Err(Refusal::bad_request(self.faults).into()),
        }
    }
}

/// The edition that `If-Match` names; none where there is no such header, or any edition will do.
pub fn if_match(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let tag = text.trim_start_matches("W/").trim_matches('"');
    tag.parse().map(Some).map_err(|_| {
        let message = "must be the `etag` of an answer, as in \"7\", or *";
        Refusal::fault("If-Match", "invalid", message).into()
    })
}
