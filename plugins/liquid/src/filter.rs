//! What a filter is: its name, how many arguments it takes, its function, and what that is given.

use std::fmt;

use crate::locale::{Locale, Style};
use crate::mode::Mode;
use crate::value::Value;

/// One filter.
#[derive(Debug)]
pub struct Filter {
    pub name: &'static str,
    pub min: usize,
    pub max: usize,
    pub named: Named,
    pub run: Run,
    /// What is seen of its arguments when a template is compiled.
    pub check: Check,
}

/// The names of named arguments.
#[derive(Debug)]
pub enum Named {
    These(&'static [&'static str]),
    Any,
}

#[derive(Debug, Clone, Copy)]
pub enum Run {
    Function(Function),
    /// `t`: reads a message, and what that reads.
    Message,
}

pub type Function = for<'a> fn(Value<'a>, &Args<'_, 'a>) -> Outcome<'a>;
pub type Check = fn(&Written<'_>) -> Result<(), WrongArguments>;
pub type Outcome<'a> = Result<Value<'a>, Refused>;

/// The arguments of one call as far as a template says them itself.
pub struct Written<'p> {
    /// The text of each; none where it is no text, or only a render knows it.
    pub positional: Vec<Option<&'p str>>,
    pub named: Vec<(&'p str, Option<&'p str>)>,
}

impl<'p> Written<'p> {
    pub fn is_empty(&self) -> bool {
        self.positional.is_empty() && self.named.is_empty()
    }

    /// The text of an argument that stands at that place, or has that name.
    pub fn text(&self, index: usize, name: &str) -> Option<&'p str> {
        let named = || self.named.iter().find(|(it, _)| *it == name).map(|(_, it)| *it);
        self.positional.get(index).copied().or_else(named).flatten()
    }
}

/// What is wrong with the arguments of a filter, whatever its input is.
#[derive(Debug, PartialEq, Eq)]
pub enum WrongArguments {
    NoFormat,
    UnknownStyle(String),
    UnknownZone(String),
}

impl fmt::Display for WrongArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFormat => f.write_str("`date` takes a format, as `'%Y-%m-%d'` or `'long'`"),
            Self::UnknownStyle(name) => {
                write!(f, "there is no style `{name}`; there are {}", Style::NAMES)
            }
            Self::UnknownZone(name) => {
                write!(f, "there is no time zone `{name}`; write one as `Europe/Berlin` or `UTC`")
            }
        }
    }
}

/// Why a filter refuses its input.
#[derive(Debug)]
pub struct Refused(pub String);

impl From<WrongArguments> for Refused {
    fn from(it: WrongArguments) -> Self {
        Self(it.to_string())
    }
}

impl Refused {
    pub fn because<'a>(reason: impl Into<String>) -> Outcome<'a> {
        Err(Self(reason.into()))
    }
}

/// The arguments of one call.
pub struct Args<'v, 'a> {
    pub positional: &'v [Value<'a>],
    pub named: &'v [(&'a str, Value<'a>)],
    pub mode: Mode,
    pub now_unix_ms: u64,
    /// `None` in a render without a locale.
    pub locale: Option<&'v Locale>,
}

impl<'a> Args<'_, 'a> {
    /// An argument that may be absent.
    pub fn get(&self, index: usize) -> Option<&Value<'a>> {
        self.positional.get(index)
    }

    /// An argument, `nil` where it is absent.
    pub fn at(&self, index: usize) -> Value<'a> {
        self.positional.get(index).cloned().unwrap_or(Value::Nil)
    }

    pub fn named(&self, name: &str) -> Option<&Value<'a>> {
        self.named.iter().find(|(it, _)| *it == name).map(|(_, it)| it)
    }
}
