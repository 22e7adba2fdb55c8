//! Equality and order, as Liquid has them: `1 == 1.0`, `1 != "1"`, `blank` and `empty` are patterns.

use std::cmp::Ordering;

use super::{Str, Value};

/// Two values that have no order, e.g. a string and a number.
#[derive(Debug)]
pub struct Incomparable;

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            // Patterns match values, not each other.
            (Self::Blank | Self::Empty, Self::Blank | Self::Empty) => false,
            (Self::Blank, it) | (it, Self::Blank) => it.is_blank(),
            (Self::Empty, it) | (it, Self::Empty) => it.is_empty(),
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                a.entries().len() == b.entries().len()
                    && a.entries().iter().all(|(key, it)| b.get(key) == Some(it))
            }
            (Self::Range(a, b), Self::Range(c, d)) => a == c && b == d,
            (a, b) => match (number(a), number(b)) {
                (Some(a), Some(b)) => a.total_cmp(&b) == Ordering::Equal,
                (Some(_), None) | (None, Some(_)) => false,
                (None, None) => a.as_str().is_some_and(|a| b.as_str() == Some(a)),
            },
        }
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Value<'_> {
    /// An empty string, array or object; `nil` is not.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Str(it) | Self::Safe(it) => it.is_empty(),
            Self::Array(it) => it.is_empty(),
            Self::Object(it) => it.entries().is_empty(),
            Self::Nil
            | Self::Blank
            | Self::Empty
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Range(..)
            | Self::Loop(_) => false,
        }
    }

    /// Empty, `nil`, `false`, or a string of white space.
    fn is_blank(&self) -> bool {
        match self {
            Self::Nil | Self::Bool(false) => true,
            Self::Str(it) | Self::Safe(it) => it.trim().is_empty(),
            Self::Array(_) | Self::Object(_) => self.is_empty(),
            Self::Blank
            | Self::Empty
            | Self::Bool(true)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Range(..)
            | Self::Loop(_) => false,
        }
    }
}

/// The order of two numbers or two strings; `true` is the same as `true`.
pub fn order(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, Incomparable> {
    if let (Value::Bool(a), Value::Bool(b)) = (a, b) {
        return if a == b { Ok(Ordering::Equal) } else { Err(Incomparable) };
    }
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Ok(a.cmp(b));
    }
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return a.partial_cmp(&b).ok_or(Incomparable);
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(a.cmp(b));
    }
    Err(Incomparable)
}

#[expect(clippy::cast_precision_loss, reason = "a comparison with a float is one of floats")]
fn number(it: &Value<'_>) -> Option<f64> {
    if let Value::Int(it) = it {
        return Some(*it as f64);
    }
    if let Value::Float(it) = it { Some(*it) } else { None }
}
