//! JSON values as literals of programming languages.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// How a language writes values.
#[derive(Debug)]
pub struct Syntax {
    list: (&'static str, &'static str),
    object: (&'static str, &'static str),
    empty_object: &'static str,
    /// Between a name and its value.
    is: &'static str,
    null: &'static str,
    yes: &'static str,
    no: &'static str,
    indent: &'static str,
    /// Whether a comma stands behind the last one too.
    trailing_comma: bool,
    /// Characters that mean something within double quotes, beside the quote and the backslash.
    special: &'static [char],
    escape: Escape,
    quirk: Quirk,
}

/// Names that a language takes for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quirk {
    None,
    /// In a literal `__proto__` is not a member, but what the object inherits from.
    Proto,
    /// A name that looks like a number becomes one, and an array of such names a list.
    NumericNames,
}

/// How a character is written by its number.
#[derive(Debug, Clone, Copy)]
enum Escape {
    /// `\u2028`
    FourDigits,
    /// `\u{2028}`
    Braces,
}

pub const JSON: Syntax = Syntax {
    list: ("[", "]"),
    object: ("{", "}"),
    empty_object: "{}",
    is: ": ",
    null: "null",
    yes: "true",
    no: "false",
    indent: "  ",
    trailing_comma: false,
    special: &[],
    escape: Escape::FourDigits,
    quirk: Quirk::None,
};
pub const JAVASCRIPT: Syntax = Syntax { trailing_comma: true, quirk: Quirk::Proto, ..JSON };
pub const PYTHON: Syntax =
    Syntax { null: "None", yes: "True", no: "False", indent: "    ", trailing_comma: true, ..JSON };
pub const PHP: Syntax = Syntax {
    object: ("[", "]"),
    empty_object: "new stdClass()",
    is: " => ",
    indent: "    ",
    trailing_comma: true,
    special: &['$'],
    escape: Escape::Braces,
    quirk: Quirk::NumericNames,
    ..JSON
};
pub const RUBY: Syntax = Syntax {
    is: " => ",
    null: "nil",
    trailing_comma: true,
    special: &['#'],
    escape: Escape::Braces,
    ..JSON
};
pub const GO: Syntax = Syntax {
    list: ("[]any{", "}"),
    object: ("map[string]any{", "}"),
    empty_object: "map[string]any{}",
    null: "nil",
    indent: "\t",
    trailing_comma: true,
    ..JSON
};

/// Deeper than that everything stands on one line: indentation of deep values would be longer than the values.
const MAX_INDENT: usize = 8;

impl Syntax {
    /// A value; the line that it begins on is indented so often.
    #[must_use]
    pub fn literal(&self, value: &Value, depth: usize) -> String {
        let mut out = String::new();
        self.value(value, depth, &mut out);
        out
    }

    /// A text in double quotes.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut out = String::new();
        self.quote(text, &mut out);
        out
    }

    fn value(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::Null => out.push_str(self.null),
            Value::Bool(true) => out.push_str(self.yes),
            Value::Bool(false) => out.push_str(self.no),
            Value::Number(number) => out.push_str(&number.to_string()),
            Value::String(text) => self.quote(text, out),
            Value::Array(items) => {
                let item = |item: &Value, out: &mut String| self.value(item, depth + 1, out);
                self.all(self.list, items.iter(), depth, item, out);
            }
            Value::Object(members) if members.is_empty() => out.push_str(self.empty_object),
            Value::Object(members) => {
                if self.needs_cast(members) {
                    out.push_str("(object) ");
                }
                let member = |(name, value): (&String, &Value), out: &mut String| {
                    self.name(name, out);
                    out.push_str(self.is);
                    self.value(value, depth + 1, out);
                };
                self.all(self.object, members.iter(), depth, member, out);
            }
        }
    }

    fn all<T>(
        &self,
        (open, close): (&str, &str),
        all: impl ExactSizeIterator<Item = T>,
        depth: usize,
        mut write: impl FnMut(T, &mut String),
        out: &mut String,
    ) {
        out.push_str(open);
        let (is_open, count) = (depth < MAX_INDENT && all.len() > 0, all.len());
        for (index, one) in all.enumerate() {
            if is_open {
                self.line(depth + 1, out);
            }
            write(one, out);
            let is_last = index + 1 == count;
            if !is_last || (self.trailing_comma && is_open) {
                out.push_str(if is_open { "," } else { ", " });
            }
        }
        if is_open {
            self.line(depth, out);
        }
        out.push_str(close);
    }

    fn line(&self, depth: usize, out: &mut String) {
        out.push('\n');
        out.extend(std::iter::repeat_n(self.indent, depth));
    }

    fn name(&self, name: &str, out: &mut String) {
        if self.quirk == Quirk::Proto && name == "__proto__" {
            out.push_str("[\"__proto__\"]");
        } else {
            self.quote(name, out);
        }
    }

    fn needs_cast(&self, members: &Map<String, Value>) -> bool {
        let is_number = |name: &String| name.parse::<i64>().is_ok();
        self.quirk == Quirk::NumericNames && members.keys().any(is_number)
    }

    fn quote(&self, text: &str, out: &mut String) {
        out.push('"');
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let ends_script = c == '<' && matches!(rest.peek(), Some('/' | '!'));
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ if self.special.contains(&c) => out.extend(['\\', c]),
                _ if ends_script || is_hidden(c) => self.by_number(c, out),
                _ => out.push(c),
            }
        }
        out.push('"');
    }

    fn by_number(&self, c: char, out: &mut String) {
        let number = u32::from(c);
        let written = match self.escape {
            // All that come here are of the basic plane.
            Escape::FourDigits => write!(out, "\\u{number:04x}"),
            Escape::Braces => write!(out, "\\u{{{number:x}}}"),
        };
        debug_assert!(written.is_ok(), "a string takes everything");
    }
}

/// What nobody sees, or what changes the order of what is seen: code must not hide anything.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
