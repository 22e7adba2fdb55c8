//! What a filter is: its name, how many arguments it takes, its function, and what that is given.

use crate::ast::Primary;
use crate::locale::Locale;
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
pub type Check = fn(&[Primary], &[(Box<str>, Primary)]) -> Result<(), String>;
pub type Outcome<'a> = Result<Value<'a>, Refused>;

/// Why a filter refuses its input.
#[derive(Debug)]
pub struct Refused(pub String);

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
