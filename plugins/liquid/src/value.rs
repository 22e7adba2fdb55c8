//! The values that a template computes with. Strings borrow from the data and the template.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;

mod compare;
mod object;

pub use compare::{Incomparable, order};
pub use object::{is_same, last_word};

/// A string that is a slice of the data or of the template, or was made while rendering.
#[derive(Clone, Debug)]
pub enum Str<'a> {
    Borrowed(&'a str),
    Shared(Rc<String>),
}

/// Any Liquid value. Copying one never copies its contents.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Nil,
    /// The keyword `blank`.
    Blank,
    /// The keyword `empty`.
    Empty,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Str<'a>),
    /// Markup: printed into HTML as it is.
    Safe(Str<'a>),
    Array(Rc<Vec<Self>>),
    Object(Rc<Object<'a>>),
    /// Both ends inclusive; never expanded unless a filter needs the items.
    Range(i64, i64),
    /// `forloop` or `tablerowloop`.
    Loop(Rc<LoopState<'a>>),
}

/// A key of an object.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    /// Keys with different tags are different.
    tag: u64,
    text: Str<'a>,
}

/// Keys and values in the order of the data. Of duplicate keys the last value wins.
#[derive(Debug, Default)]
pub struct Object<'a> {
    entries: Vec<(Key<'a>, Value<'a>)>,
    /// Positions in the order of their keys; empty in a small object.
    sorted: Vec<u32>,
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(it) => it,
            Self::Shared(it) => it,
        }
    }
}

impl From<String> for Str<'_> {
    fn from(it: String) -> Self {
        Self::Shared(Rc::new(it))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(it: &'a str) -> Self {
        Self::Str(Str::Borrowed(it))
    }
}

impl From<String> for Value<'_> {
    fn from(it: String) -> Self {
        Self::Str(it.into())
    }
}

impl From<usize> for Value<'_> {
    fn from(it: usize) -> Self {
        Self::Int(i64::try_from(it).unwrap_or(i64::MAX))
    }
}

impl From<u64> for Value<'_> {
    fn from(it: u64) -> Self {
        Self::Int(i64::try_from(it).unwrap_or(i64::MAX))
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(it: Vec<Self>) -> Self {
        Self::Array(Rc::new(it))
    }
}

impl<'a> Value<'a> {
    /// Everything but `nil` and `false`.
    pub const fn is_truthy(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(false))
    }

    /// The text of a string, marked safe or not.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(it) | Self::Safe(it) = self { Some(it) } else { None }
    }

    /// As a string filter sees it: an array as Ruby writes one, `["a", "b"]`.
    pub fn to_text(&self) -> Str<'a> {
        if let Self::Str(it) | Self::Safe(it) = self {
            return it.clone();
        }
        let mut out = String::new();
        if matches!(self, Self::Array(_)) {
            self.inspect(&mut out);
        } else {
            self.print(&mut out);
        }
        out.into()
    }

    /// As `{{ }}` prints it.
    pub fn to_output(&self) -> Str<'a> {
        if let Self::Array(_) = self {
            let mut out = String::new();
            self.print(&mut out);
            return out.into();
        }
        self.to_text()
    }

    /// Prints as `{{ }}` does.
    pub fn print(&self, out: &mut String) {
        match self {
            Self::Nil | Self::Blank | Self::Empty | Self::Loop(_) => {}
            Self::Bool(it) => out.push_str(if *it { "true" } else { "false" }),
            Self::Int(it) => out.push_str(itoa::Buffer::new().format(*it)),
            Self::Float(it) => print_float(*it, out),
            Self::Str(it) | Self::Safe(it) => out.push_str(it),
            Self::Array(items) => items.iter().for_each(|it| it.print(out)),
            Self::Object(_) => self.inspect(out),
            Self::Range(from, to) => put!(out, "{from}..{to}"),
        }
    }

    /// Prints as a value inside an object that is printed: strings in quotes.
    fn inspect(&self, out: &mut String) {
        match self {
            Self::Nil => out.push_str("nil"),
            Self::Str(it) | Self::Safe(it) => put!(out, "{:?}", &**it),
            Self::Array(items) => {
                out.push('[');
                for (i, it) in items.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    it.inspect(out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                out.push('{');
                for (i, (key, it)) in object.entries().iter().enumerate() {
                    put!(out, "{}{:?}=>", if i == 0 { "" } else { ", " }, &**key);
                    it.inspect(out);
                }
                out.push('}');
            }
            Self::Blank
            | Self::Empty
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Range(..)
            | Self::Loop(_) => self.print(out),
        }
    }

    /// A property by name: `it.key`, with the special `size`, `first` and `last`.
    pub fn property(&self, key: &str) -> Option<Self> {
        match self {
            Self::Object(object) => object.get(key).cloned().or_else(|| match key {
                "size" => Some(object.entries().len().into()),
                "first" => object.entries().first().map(pair),
                _ => None,
            }),
            Self::Array(items) => match key {
                "size" => Some(items.len().into()),
                "first" => items.first().cloned(),
                "last" => items.last().cloned(),
                _ => None,
            },
            Self::Range(from, to) => match key {
                "size" => Some(Self::Int(to.saturating_sub(*from).saturating_add(1).max(0))),
                "first" => Some(Self::Int(*from)),
                "last" => Some(Self::Int(*to)),
                _ => None,
            },
            Self::Str(it) | Self::Safe(it) => match key {
                "size" => Some(it.chars().count().into()),
                "first" => it.chars().next().map(|it| it.to_string().into()),
                "last" => it.chars().next_back().map(|it| it.to_string().into()),
                _ => None,
            },
            Self::Loop(it) => it.property(key),
            Self::Nil
            | Self::Blank
            | Self::Empty
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_) => None,
        }
    }

    /// `it["key"]`: what the data calls so.
    pub fn item(&self, key: &str) -> Option<Self> {
        match self {
            Self::Object(object) => object.get(key).cloned(),
            Self::Loop(it) => it.property(key),
            Self::Nil
            | Self::Blank
            | Self::Empty
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Str(_)
            | Self::Safe(_)
            | Self::Array(_)
            | Self::Range(..) => None,
        }
    }

    /// `it[index]`; a negative index counts from the end.
    pub fn element(&self, index: i64) -> Option<Self> {
        match self {
            Self::Array(items) => {
                let index = if index < 0 {
                    items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
                } else {
                    usize::try_from(index).ok()?
                };
                items.get(index).cloned()
            }
            Self::Range(from, to) => {
                let at = if index < 0 {
                    to.checked_add(index)?.checked_add(1)?
                } else {
                    from.checked_add(index)?
                };
                (*from <= at && at <= *to).then_some(Self::Int(at))
            }
            Self::Object(object) => object.get(&index.to_string()).cloned(),
            Self::Nil
            | Self::Blank
            | Self::Empty
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Str(_)
            | Self::Safe(_)
            | Self::Loop(_) => None,
        }
    }

    /// `it[key]` where the key was computed.
    pub fn lookup(&self, key: &Self) -> Option<Self> {
        if let Self::Int(index) = key {
            return self.element(*index);
        }
        self.item(key.as_str()?)
    }
}

/// What a person calls a value.
pub const fn kind(it: &Value<'_>) -> &'static str {
    match it {
        Value::Nil | Value::Blank | Value::Empty => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Str(_) | Value::Safe(_) => "a string",
        Value::Array(_) | Value::Range(..) => "an array",
        Value::Object(_) | Value::Loop(_) => "an object",
    }
}

/// A key and its value as a loop over an object sees them.
pub fn pair<'a>(entry: &(Key<'a>, Value<'a>)) -> Value<'a> {
    vec![Value::Str(entry.0.text().clone()), entry.1.clone()].into()
}

/// As Shopify prints floats: with an exponent below 0.0001, and whole ones from 10^15 on.
fn print_float(it: f64, out: &mut String) {
    if it.is_nan() {
        return out.push_str("NaN");
    }
    if it.is_infinite() {
        return out.push_str(if it < 0.0 { "-Infinity" } else { "Infinity" });
    }
    let size = it.abs();
    if it == 0.0 || (1e-4..1e15).contains(&size) || (size >= 1e15 && it.fract() != 0.0) {
        let start = out.len();
        put!(out, "{it}");
        if !out.get(start..).is_some_and(|it| it.contains('.')) {
            out.push_str(".0");
        }
        return;
    }
    let text = format!("{it:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |it| ('-', it));
    put!(out, "{digits}{point}e{sign}{exponent:0>2}");
}

/// Where a loop is.
#[derive(Debug)]
pub struct LoopState<'a> {
    /// The loop as written, e.g. `item-order.items`.
    pub name: &'a str,
    pub length: u64,
    /// From 0; behind the last item once the loop is over.
    pub index: Cell<u64>,
    pub parent: Option<Rc<Self>>,
    pub kind: LoopKind,
}

/// What makes the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopKind {
    For,
    /// `render … for`: no loop's parent.
    Call,
    TableRow {
        /// 0: a row never ends.
        columns: u64,
    },
}

impl<'a> LoopState<'a> {
    pub fn property(&self, key: &str) -> Option<Value<'a>> {
        let index = self.index.get();
        let left = self.length.saturating_sub(index);
        Some(match key {
            "index" => (index + 1).into(),
            "index0" => index.into(),
            "rindex" => left.into(),
            "rindex0" => Value::Int(i64::try_from(left).unwrap_or(i64::MAX) - 1),
            "first" => Value::Bool(index == 0),
            "last" => Value::Bool(left == 1),
            "length" => self.length.into(),
            "name" => self.name.into(),
            "parentloop" => self.parent.clone().map_or(Value::Nil, Value::Loop),
            _ => return self.cell(index, key),
        })
    }

    fn cell(&self, index: u64, key: &str) -> Option<Value<'a>> {
        let LoopKind::TableRow { columns } = self.kind else {
            return None;
        };
        let (row, column) = cell(index, columns);
        Some(match key {
            "col" => (column + 1).into(),
            "col0" => column.into(),
            "col_first" => Value::Bool(column == 0),
            "col_last" => Value::Bool(column + 1 == columns),
            "row" => (row + 1).into(),
            _ => return None,
        })
    }
}

/// Row and column of a table's cell, from 0; without columns there is one row.
pub fn cell(index: u64, columns: u64) -> (u64, u64) {
    index.checked_div(columns).map_or((0, index), |row| (row, index % columns))
}
