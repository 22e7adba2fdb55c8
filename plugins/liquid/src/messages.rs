//! The messages of a template: texts by key, in one language, which the filter `t` writes.
//!
//! They come as JSON in a partial of a reserved name. A text may name values, as `{{ user.name }}`; it is no
//! template: filters and tags are refused, and what a value holds is never read again.

use std::collections::BTreeMap;
use std::fmt;

use crate::ast::{Block, Expr, FilterCall, Literal, Node, Primary, each_node};
use crate::fault::Fault;
use crate::filter::Run;
use crate::json;
use crate::locale::Plural;
use crate::parse;
use crate::template::{Diagnostic, Template};
use crate::value::{Object, Value};

/// The partial that holds the messages; nothing can call it.
pub const NAME: &str = "messages.json";

/// The argument that decides on the plural form.
pub const COUNT: &str = "count";

/// The argument that stands for a message that is not there.
pub const DEFAULT: &str = "default";

/// No more faults than this are listed.
const MAX_FAULTS: usize = 50;

/// Among more messages none is looked for that has nearly the name.
const MAX_SUGGESTED: usize = 5_000;

/// All messages by their keys.
#[derive(Debug, Default)]
pub struct Messages {
    all: BTreeMap<Box<str>, Message>,
    /// Bytes of the JSON.
    size: usize,
}

#[derive(Debug)]
pub struct Message {
    /// The text is HTML: its key ends in `_html`.
    pub is_markup: bool,
    pub forms: Forms,
}

#[derive(Debug)]
pub enum Forms {
    One(Text),
    /// In the order of [`Plural::ALL`]; `other` is there.
    Plural([Option<Text>; 6]),
}

pub type Text = Vec<Piece>;

#[derive(Debug)]
pub enum Piece {
    Text(Box<str>),
    Value(Primary),
}

impl Message {
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let (one, plural) = match &self.forms {
            Forms::One(it) => (Some(it), None),
            Forms::Plural(it) => (None, Some(it)),
        };
        one.into_iter().chain(plural.into_iter().flatten().flatten())
    }
}

impl Messages {
    /// The messages of a template, and what is wrong with them.
    pub fn of(template: &Template) -> (Self, Vec<Diagnostic>) {
        let Some(partial) = template.partials.iter().find(|it| it.name == NAME) else {
            return (Self::default(), Vec::new());
        };
        let mut it = Self { all: BTreeMap::new(), size: partial.text.len() };
        let mut faults = Vec::new();
        match json::read(&partial.text) {
            Ok(Value::Object(object)) => it.read(&object, &mut faults),
            Ok(_) => faults.push(fault("bad_messages", "the messages are not a JSON object")),
            Err(error) => {
                let number = |it| u32::try_from(it).unwrap_or(0);
                let (line, column) = (number(error.line()), number(error.column()));
                let message = format!("the messages are not JSON: {error}");
                faults.push(Diagnostic { line, column, ..fault("bad_messages", message) });
            }
        }
        (it, faults)
    }

    pub fn get(&self, key: &str) -> Option<&Message> {
        self.all.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.all.values()
    }

    /// Estimated bytes held.
    pub fn weight(&self) -> usize {
        self.size * 5 + self.all.len() * 160
    }

    fn read(&mut self, object: &Object<'_>, faults: &mut Vec<Diagnostic>) {
        for (key, value) in object.entries() {
            if faults.len() >= MAX_FAULTS {
                return;
            }
            match forms(value) {
                Ok(forms) => {
                    let is_markup = key.ends_with("_html");
                    self.all.insert((**key).into(), Message { is_markup, forms });
                }
                Err((code, message, snippet)) => {
                    let message = format!("message `{}`: {message}", &**key);
                    let path = Some((**key).to_owned());
                    faults.push(Diagnostic { snippet, path, ..fault(code, message) });
                }
            }
        }
    }

    /// What is wrong with the calls of `t` whose key is written in the template.
    pub fn check(&self, block: &Block) -> Vec<Fault> {
        let mut faults = Vec::new();
        each_node(block, &mut |node| {
            let (Node::Output(expr) | Node::Assign { value: expr, .. }) = node else { return };
            for (i, call) in expr.filters.iter().enumerate() {
                if let Run::Message = call.filter.run
                    && let Some(key) = key(expr, i)
                    && let Err((code, message)) = self.check_call(key, call, faults.len())
                {
                    faults.push(Fault::new(code, call.at, message));
                }
            }
        });
        faults.truncate(MAX_FAULTS);
        faults
    }

    fn check_call(
        &self,
        key: &str,
        call: &FilterCall,
        faults: usize,
    ) -> Result<(), (&'static str, String)> {
        let has = |name: &str| call.named.iter().any(|(it, _)| &**it == name);
        match self.get(key) {
            None if has(DEFAULT) => Ok(()),
            None => {
                let hint = if faults < MAX_FAULTS { self.hint(key) } else { String::new() };
                Err(("unknown_message", format!("there is no message `{key}`{hint}")))
            }
            Some(Message { forms: Forms::Plural(_), .. }) if !has(COUNT) => {
                let message = format!("message `{key}` has plural forms: `t` needs `{COUNT}:`");
                Err(("filter_arguments", message))
            }
            Some(_) => Ok(()),
        }
    }

    /// The words "did you mean", where a message has nearly that key.
    pub fn hint(&self, key: &str) -> String {
        if self.all.is_empty() {
            return format!("; the template has no messages (`{NAME}`)");
        }
        if self.all.len() > MAX_SUGGESTED || key.len() > 100 {
            return String::new();
        }
        let most = 1 + key.chars().count() / 4;
        let near = self.all.keys().filter_map(|it| Some((distance(it, key, most)?, it)));
        near.min().map_or_else(String::new, |(_, it)| format!("; did you mean `{it}`?"))
    }
}

/// The key that a call of `t` has, where it is written in the template; `index` is the call's among the filters.
pub fn key(expr: &Expr, index: usize) -> Option<&str> {
    match &expr.value {
        Primary::Literal(Literal::Str(it) | Literal::Markup(it)) if index == 0 => Some(it),
        Primary::Literal(_) | Primary::Path(_) | Primary::Range(_) => None,
    }
}

fn fault(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { part: Some(format!("partial:{NAME}")), ..Diagnostic::new(code, message) }
}

/// Code, message and a piece of the text.
type Refused = (&'static str, String, Option<String>);

fn forms(value: &Value<'_>) -> Result<Forms, Refused> {
    if let Some(it) = value.as_str() {
        return Ok(Forms::One(text(it)?));
    }
    let refuse = |message: String| Err(("bad_messages", message, None));
    let Value::Object(object) = value else {
        return refuse("it is neither text nor an object of plural forms".to_owned());
    };
    let mut forms = [const { None }; 6];
    for (name, value) in object.entries() {
        let Some(plural) = Plural::ALL.into_iter().find(|it| it.name() == &**name) else {
            let known = Plural::ALL.map(Plural::name).join(", ");
            return refuse(format!("`{}` is no plural form; there are {known}", &**name));
        };
        let Some(form) = value.as_str() else {
            return refuse(format!("the plural form `{}` is not text", &**name));
        };
        forms[plural as usize] = Some(text(form)?);
    }
    if forms[Plural::Other as usize].is_none() {
        return refuse("it has no plural form `other`, which every language has".to_owned());
    }
    Ok(Forms::Plural(forms))
}

/// Cuts a text at its values.
fn text(it: &str) -> Result<Text, Refused> {
    let refuse = |message: &str, rest: &str| {
        let snippet = Some(rest.chars().take(60).collect());
        ("message_syntax", message.to_owned(), snippet)
    };
    let mut out = Text::new();
    let mut rest = it;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let (before, open) = rest.split_at(at);
        if !before.is_empty() {
            out.push(Piece::Text(before.into()));
        }
        if open.starts_with("{%") {
            return Err(refuse("it has a tag; a message has only values, as `{{ name }}`", open));
        }
        let Some(end) = open.find("}}") else {
            return Err(refuse("`{{` is not closed", open));
        };
        let inside = open.get(2..end).unwrap_or_default();
        out.push(piece(inside).map_err(|it| refuse(&it.to_string(), open))?);
        rest = open.get(end + 2..).unwrap_or_default();
    }
    if !rest.is_empty() {
        out.push(Piece::Text(rest.into()));
    }
    Ok(out)
}

/// What stands between braces in a message, and is no value there.
enum NoValue {
    Syntax(Fault),
    /// A value, but one that only a template may have.
    OfTemplate,
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value is a name, as `{{ user.name }}`, without filters")?;
        match self {
            Self::Syntax(fault) => write!(f, ": {}", fault.message),
            Self::OfTemplate => Ok(()),
        }
    }
}

/// A path, or text in quotes, as `{{ "{{" }}`.
fn piece(inside: &str) -> Result<Piece, NoValue> {
    match parse::value(inside).map_err(NoValue::Syntax)? {
        Primary::Literal(Literal::Str(it)) => Ok(Piece::Text(it)),
        it @ Primary::Path(_) => Ok(Piece::Value(it)),
        Primary::Literal(_) | Primary::Range(_) => Err(NoValue::OfTemplate),
    }
}

/// How many characters differ, up to `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    if a.chars().count().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = before + usize::from(c != *other);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row.last().copied().filter(|it| *it <= most)
}
