//! Runs compiled blocks. Holds all that changes while one message is rendered.

mod call;
mod eval;
mod exec;
mod iterate;
mod message;
mod names;

use std::rc::Rc;

use waxwing_html_text::of_markup;

use crate::ast::SourceOffset;
use crate::compile::Compiled;
use crate::locale::Locale;
use crate::messages::Messages;
use crate::mode::Mode;
use crate::template::Undefined;
use crate::unit::{Partials, Unit};
use crate::value::{Object, Str, Value};
use names::{Binding, Names};

/// How many absent optional paths are reported.
const MAX_MISSING: usize = 256;

/// What stops a render: a fault at a place of the unit that was running.
#[derive(Debug)]
pub struct Stopped {
    pub code: &'static str,
    pub message: String,
    pub at: SourceOffset,
    pub whose: Whose,
    /// Label and source of the unit; set where the unit is left.
    pub unit: Option<(String, String)>,
}

/// Who has to mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Data,
    Template,
}

impl Stopped {
    fn new(code: &'static str, at: SourceOffset, message: impl Into<String>) -> Self {
        let whose = if code == "render_error" { Whose::Data } else { Whose::Template };
        Self { code, message: message.into(), at, whose, unit: None }
    }

    fn within(mut self, unit: &Unit) -> Self {
        self.unit.get_or_insert_with(|| (unit.label.clone(), unit.source.clone()));
        self
    }
}

/// A path whose value has the wrong type.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongType {
    pub path: String,
    pub message: String,
}

/// What a block asks of the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// The state of one render.
pub struct Machine<'a> {
    partials: &'a Partials,
    names: Names<'a>,
    cycles: Vec<(String, usize)>,
    /// Where the last loop of a name ended, for `offset: continue`; negative after a negative `offset`.
    offsets: Vec<(&'a str, i64)>,
    changed: Option<String>,
    out: String,
    mode: Mode,
    depth: u32,
    now_unix_ms: u64,
    /// [`Undefined::Nil`] prints objects and arrays; otherwise they are of the wrong type.
    undefined: Undefined,
    locale: Option<&'a Locale>,
    messages: &'a Messages,
    pub missing: Vec<String>,
    /// How many conditions around ask for a value that they do not print.
    unprinted: u32,
    pub wrong: Vec<WrongType>,
}

impl<'a> Machine<'a> {
    pub fn new(
        compiled: &'a Compiled,
        data: Rc<Object<'a>>,
        now_unix_ms: u64,
        locale: Option<&'a Locale>,
    ) -> Self {
        Self {
            partials: &compiled.partials,
            messages: &compiled.messages,
            locale,
            names: Names::new(data),
            cycles: Vec::new(),
            offsets: Vec::new(),
            changed: None,
            out: String::new(),
            mode: Mode::Text,
            depth: 0,
            now_unix_ms,
            undefined: compiled.undefined,
            missing: Vec::new(),
            unprinted: 0,
            wrong: Vec::new(),
        }
    }

    /// Renders a unit on its own: nothing that an earlier one bound is seen.
    ///
    /// # Errors
    /// The first thing that went wrong while rendering.
    pub fn run(
        &mut self,
        unit: &'a Unit,
        given: &[(&'a str, Value<'a>)],
    ) -> Result<String, Stopped> {
        self.names.clear();
        self.cycles.clear();
        self.offsets.clear();
        self.changed = None;
        self.mode = unit.mode;
        for (name, value) in given {
            self.names.locals.push(Binding { name, value: value.clone(), origin: None });
        }
        self.out = String::with_capacity(unit.last_size.get() + 64);
        self.block(&unit.block).map_err(|it| it.within(unit))?;
        let out = std::mem::take(&mut self.out);
        unit.last_size.set(out.len());
        Ok(out)
    }

    /// Appends a value as `{{ }}` prints it.
    fn print(&mut self, value: &Value<'a>) {
        print(value, self.mode, &mut self.out);
    }

    /// Text that was made by this part: markup in HTML.
    fn made(&self, text: String) -> Value<'a> {
        let text: Str<'a> = text.into();
        if self.mode == Mode::Html { Value::Safe(text) } else { Value::Str(text) }
    }
}

/// Appends a value as `{{ }}` prints it.
fn print(value: &Value<'_>, mode: Mode, out: &mut String) {
    if mode == Mode::Text {
        return value.print(out);
    }
    match value {
        Value::Safe(text) if mode == Mode::Derived && text.contains(['<', '&']) => {
            out.push_str(&of_markup(text));
        }
        Value::Str(_) | Value::Object(_) if mode == Mode::Derived => value.print(out),
        Value::Str(text) => crate::filters::escape_into(text, out),
        Value::Array(items) => items.iter().for_each(|it| print(it, mode, out)),
        Value::Object(_) => {
            let mut text = String::new();
            value.print(&mut text);
            crate::filters::escape_into(&text, out);
        }
        Value::Safe(_)
        | Value::Nil
        | Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Range(..)
        | Value::Loop(_) => value.print(out),
    }
}
