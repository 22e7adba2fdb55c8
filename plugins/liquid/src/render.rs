//! One render: data in, the parts of a message out.

use std::rc::Rc;

use crate::check;
use crate::compile::Compiled;
use crate::fault::Fault;
use crate::json;
use crate::locale::Locale;
use crate::machine::{Machine, Stopped, Whose};
use crate::mode::Mode;
use crate::template::{Body, Diagnostic, Output, Part, RenderError, Undefined};
use crate::tidy;
use crate::unit::Unit;
use crate::value::{Object, Str, Value};

impl Compiled {
    /// Renders every part; `now_unix_ms` is the only clock, `data` is a JSON object.
    ///
    /// # Errors
    /// Data that the template cannot take, each fault once; or a fault of the template itself.
    pub fn render(&self, now_unix_ms: u64, data: &str) -> Result<Output, RenderError> {
        self.render_for(None, now_unix_ms, data)
    }

    /// As [`Compiled::render`], with dates, numbers, amounts and messages as `locale` has them.
    ///
    /// # Errors
    /// As [`Compiled::render`].
    pub fn render_in(
        &self,
        locale: &Locale,
        now_unix_ms: u64,
        data: &str,
    ) -> Result<Output, RenderError> {
        self.render_for(Some(locale), now_unix_ms, data)
    }

    fn render_for(
        &self,
        locale: Option<&Locale>,
        now_unix_ms: u64,
        data: &str,
    ) -> Result<Output, RenderError> {
        let data = object(data)?;
        let lenient = self.undefined == Undefined::Nil;
        if !lenient {
            let faults = check::check(&self.uses, &data);
            if !faults.is_empty() {
                return Err(RenderError::Data(faults));
            }
        }
        let mut machine = Machine::new(self, data, now_unix_ms, locale);
        let bodies = bodies(self, &mut machine).map_err(failure)?;
        if machine.wrong.is_empty() {
            return Ok(Output { bodies, missing: machine.missing });
        }
        let wrong = machine.wrong.into_iter();
        Err(RenderError::Data(
            wrong.map(|it| Diagnostic::at(it.path, "wrong_type", it.message)).collect(),
        ))
    }
}

/// A value that a layout is given.
type Given<'a> = [(&'a str, Value<'a>); 3];

fn bodies<'a>(it: &'a Compiled, machine: &mut Machine<'a>) -> Result<Vec<Body>, Stopped> {
    let mut bodies: Vec<Option<Body>> = it.parts.iter().map(|_| None).collect();
    let mut given = [("content", Value::Nil), ("subject", "".into()), ("preheader", "".into())];
    for ((part, unit), body) in it.parts.iter().zip(&mut bodies) {
        let name = match part {
            Part::Subject => 1,
            Part::Preheader => 2,
            Part::Html | Part::Text => continue,
        };
        let text = tidy::one_line(&machine.run(unit, &[])?);
        given[name].1 = text.clone().into();
        *body = Some(Body { part: *part, text });
    }
    for ((part, unit), body) in it.parts.iter().zip(&mut bodies) {
        let text = match part {
            Part::Subject | Part::Preheader => continue,
            Part::Text => machine.run(unit, &[])?,
            Part::Html => in_layout(machine, unit, it.layout.as_ref(), &mut given)?,
        };
        *body = Some(Body { part: *part, text });
    }
    let mut bodies: Vec<Body> = bodies.into_iter().flatten().collect();
    if let Some((unit, layout)) = &it.derived {
        let text = in_layout(machine, unit, layout.as_ref(), &mut given)?;
        bodies.push(Body { part: Part::Text, text: tidy::lines(&text) });
    }
    Ok(bodies)
}

fn in_layout<'a>(
    machine: &mut Machine<'a>,
    unit: &'a Unit,
    layout: Option<&'a Unit>,
    given: &mut Given<'a>,
) -> Result<String, Stopped> {
    let content = machine.run(unit, &[])?;
    let Some(layout) = layout else {
        return Ok(content);
    };
    let content: Str<'a> = content.into();
    given[0].1 =
        if layout.mode == Mode::Derived { Value::Str(content) } else { Value::Safe(content) };
    machine.run(layout, given)
}

fn object(data: &str) -> Result<Rc<Object<'_>>, RenderError> {
    let refuse = |line: usize, column: usize, message: String| {
        let number = |it| u32::try_from(it).unwrap_or(0);
        let (line, column) = (number(line), number(column));
        RenderError::Data(vec![Diagnostic {
            line,
            column,
            ..Diagnostic::new("not_an_object", message)
        }])
    };
    match json::read(data) {
        Ok(Value::Object(it)) => Ok(it),
        Ok(_) => Err(refuse(0, 0, "the data is not a JSON object".to_owned())),
        Err(it) => Err(refuse(it.line(), it.column(), format!("the data is not JSON: {it}"))),
    }
}

/// What depends on data is the sender's; what fails whatever the data is the template's.
fn failure(it: Stopped) -> RenderError {
    let fault = Fault::new(it.code, it.at, it.message);
    let (label, source) = it.unit.unwrap_or_default();
    let diagnostics = vec![fault.into_diagnostic(&label, &source)];
    match it.whose {
        Whose::Data => RenderError::Data(diagnostics),
        Whose::Template => RenderError::Template(diagnostics),
    }
}
