//! The members of a body, read one by one: all faults at once, and what nobody has asked for is a warning.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::management::Change;

/// Unknown members that a warning names, at most.
const MAX_WARNINGS: usize = 50;

/// The members of a body. One that is null counts as absent, unless [`Self::or_null`] reads it.
#[derive(Debug)]
pub struct Fields<'a> {
    members: &'a Map<String, Value>,
    known: Vec<&'static str>,
    faults: Vec<Fault>,
}

impl<'a> Fields<'a> {
    pub fn of(body: &'a Value) -> Result<Self, Refusal> {
        let members = body.as_object();
        let fault = || Refusal::bad_request(vec![not_an_object("the body", body)]);
        let members = members.ok_or_else(fault)?;
        Ok(Self { members, known: Vec::new(), faults: Vec::new() })
    }

    /// Says what is wrong with a member, unless that is known already.
    pub fn fault(&mut self, field: &str, code: &str, message: impl Display) {
        if self.faults.iter().all(|it| it.field != field) {
            self.faults.push(Fault::new(field, code, message.to_string()));
        }
    }

    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.parsed(name)
    }

    /// A text that means something.
    pub fn parsed<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Option<T> {
        let value = self.member(name)?;
        self.one(name, value)
    }

    /// The same where there must be one.
    pub fn required<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Option<T> {
        if self.member(name).is_none() {
            self.fault(name, "missing", "must be given");
        }
        self.parsed(name)
    }

    /// The same where null takes the value away.
    pub fn or_null<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Change<T> {
        if self.members.get(name).is_some_and(Value::is_null) {
            self.known.push(name);
            return Change::Clear;
        }
        self.parsed(name).map_or(Change::Keep, Change::Set)
    }

    pub fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.member(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.fault(name, "type", "must be true or false");
        }
        flag
    }

    /// A whole number that must be there.
    pub fn number(&mut self, name: &'static str) -> Option<i64> {
        let number = self.member(name).map(Value::as_i64);
        match number {
            None => self.fault(name, "missing", "must be given"),
            Some(None) => self.fault(name, "type", "must be a whole number"),
            Some(Some(_)) => {}
        }
        number.flatten()
    }

    /// A whole number, which null takes away.
    pub fn number_or_null(&mut self, name: &'static str) -> Change<i64> {
        self.known.push(name);
        match self.members.get(name) {
            None => Change::Keep,
            Some(Value::Null) => Change::Clear,
            Some(value) => value.as_i64().map_or_else(
                || {
                    self.fault(name, "type", "must be a whole number");
                    Change::Keep
                },
                Change::Set,
            ),
        }
    }

    /// An array of texts that mean something; every fault in it is named.
    pub fn list<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Option<Vec<T>> {
        let Value::Array(items) = self.member(name)? else {
            self.fault(name, "type", "must be an array of strings");
            return None;
        };
        let items = items.iter().enumerate();
        let parsed: Vec<Option<T>> =
            items.map(|(index, item)| self.one(&format!("{name}[{index}]"), item)).collect();
        parsed.into_iter().collect()
    }

    /// Makes a fault of each member that was not read, where a warning would come too late.
    pub fn refuse_unknown(&mut self) {
        let message = format!("is not known; known are {}", self.known.join(", "));
        let members = self.members.keys().filter(|it| !self.known.contains(&it.as_str()));
        for name in members.take(MAX_WARNINGS) {
            self.faults.push(Fault::new(name, "unknown", &*message));
        }
    }

    /// The warnings about members that mean nothing here.
    pub fn end(self) -> Result<Vec<String>, Refusal> {
        if !self.faults.is_empty() {
            return Err(Refusal::bad_request(self.faults));
        }
        let ignored = self.members.keys().filter(|it| !self.known.contains(&it.as_str()));
        Ok(ignored.take(MAX_WARNINGS).map(|it| format!("unknown field `{}`", shown(it))).collect())
    }

    fn member(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.members.get(name).filter(|it| !it.is_null())
    }

    fn one<T: FromStr<Err: Display>>(&mut self, field: &str, value: &Value) -> Option<T> {
        let Some(text) = value.as_str() else {
            self.fault(field, "type", "must be a string");
            return None;
        };
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault(field, "invalid", error);
                None
            }
        }
    }
}

/// A moment of a body.
#[derive(Debug, Clone, Copy)]
pub struct Moment(pub Timestamp);

/// A text that is no moment.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be RFC 3339, as in 2026-12-24T18:00:00Z")]
pub struct NoMoment;

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        Timestamp::parse_rfc3339(text).map(Self).ok_or(NoMoment)
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::account::ip_network::IpNetwork;

    #[test]
    fn every_fault_of_a_body_is_named_at_once() {
        let body = json!({"name": 1, "networks": ["10.0.0.0/8", "x", 7], "end": "soon", "strict": "yes", "count": 1.5});
        let mut fields = Fields::of(&body).expect("an object");
        assert_eq!(fields.text("name"), None);
        assert_eq!(fields.list::<IpNetwork>("networks"), None);
        assert!(matches!(fields.or_null::<Moment>("end"), Change::Keep));
        assert_eq!(fields.flag("strict"), None);
        assert_eq!(fields.number("count"), None);
        assert_eq!(fields.required::<String>("plan"), None);
        let Err(Refusal::BadRequest { faults }) = fields.end() else { panic!("it has faults") };
        let named: Vec<(&str, &str)> =
            faults.iter().map(|it| (it.field.as_str(), it.code.as_str())).collect();
        let wanted = [
            ("name", "type"),
            ("networks[1]", "invalid"),
            ("networks[2]", "type"),
            ("end", "invalid"),
            ("strict", "type"),
            ("count", "type"),
            ("plan", "missing"),
        ];
        assert_eq!(named, wanted);
    }

    #[test]
    fn null_is_absent_or_takes_a_value_away_and_what_is_unknown_is_a_warning() {
        let body = json!({"name": null, "end": null, "colour": 1});
        let mut fields = Fields::of(&body).expect("an object");
        assert_eq!(fields.text("name"), None);
        assert!(matches!(fields.or_null::<Moment>("end"), Change::Clear));
        assert_eq!(fields.end().expect("no fault"), ["unknown field `colour`"]);
        assert!(Fields::of(&json!([1])).is_err());
    }
}
