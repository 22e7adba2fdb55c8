//! Runs nodes.

use std::rc::Rc;

use super::{Binding, Flow, Machine, Stopped, WrongType, print};
use crate::ast::{Arm, Block, CycleName, Expr, Node, Primary};
use crate::bounds::MAX_DEPTH;
use crate::template::Undefined;
use crate::value::Value;

impl<'a> Machine<'a> {
    pub(super) fn block(&mut self, block: &'a Block) -> Result<Flow, Stopped> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("tags and partials are nested more than {MAX_DEPTH} deep");
            return Err(Stopped::new("nesting_too_deep", 0, message));
        }
        for node in block {
            let flow = self.node(node)?;
            if flow != Flow::Next {
                self.depth -= 1;
                return Ok(flow);
            }
        }
        self.depth -= 1;
        Ok(Flow::Next)
    }

    /// Recurses with each nested tag on a small stack: what it calls is not inlined.
    fn node(&mut self, node: &'a Node) -> Result<Flow, Stopped> {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Output(it) => self.output(it)?,
            Node::Assign { name, value } => self.assign(name, value)?,
            Node::Capture { name, body } => {
                let (text, flow) = self.aside(body)?;
                let value = self.made(text);
                self.bind(name, value, None);
                return Ok(flow);
            }
            Node::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.holds(condition)? {
                        return self.block(body);
                    }
                }
                if let Some(body) = otherwise {
                    return self.block(body);
                }
            }
            Node::Case { subject, arms } => return self.case(subject, arms),
            Node::For(it) => return self.for_loop(it),
            Node::TableRow(it) => self.table_row(it)?,
            Node::Cycle { name, items } => self.cycle(name, items),
            Node::Increment(name) => self.count(name, 0, 1),
            Node::Decrement(name) => self.count(name, -1, -1),
            Node::IfChanged(body) => {
                let (text, flow) = self.aside(body)?;
                if self.changed.as_deref() != Some(&text) {
                    self.out.push_str(&text);
                    self.changed = Some(text);
                }
                return Ok(flow);
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::Call(it) => return self.call(it),
        }
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn output(&mut self, it: &'a Expr) -> Result<(), Stopped> {
        if it.filters.is_empty()
            && let Primary::Path(path) = &it.value
            && let Some(value) = self.names.look(path)
            && !matches!(value, Value::Array(_) | Value::Object(_))
        {
            print(value, self.mode, &mut self.out);
            return Ok(());
        }
        let value = self.expr(it)?;
        if self.undefined == Undefined::Required
            && it.filters.is_empty()
            && let Value::Array(_) | Value::Object(_) = value
            && let Primary::Path(path) = &it.value
        {
            let kind = if matches!(value, Value::Array(_)) { "array" } else { "object" };
            let path = self.origin(path);
            self.wrong_type(path, &format!("an {kind} is printed; print one of its values"));
            return Ok(());
        }
        self.print(&value);
        Ok(())
    }

    pub(super) fn wrong_type(&mut self, path: Option<String>, what: &str) {
        let path = path.unwrap_or_default();
        let it = WrongType { message: format!("`{path}`: {what}"), path };
        if self.wrong.len() < 100 && !self.wrong.contains(&it) {
            self.wrong.push(it);
        }
    }

    #[inline(never)]
    fn assign(&mut self, name: &'a str, it: &'a Expr) -> Result<(), Stopped> {
        let noted = self.missing.len();
        let value = self.expr(it)?;
        let traced = matches!(value, Value::Array(_) | Value::Object(_) | Value::Nil);
        let origin = if traced && it.filters.is_empty() { self.origin_of(&it.value) } else { None };
        if origin.is_some() {
            // It is a blank only where the name is printed.
            self.missing.truncate(noted);
        }
        self.bind(name, value, origin.map(Rc::from));
        Ok(())
    }

    pub(super) fn bind(&mut self, name: &'a str, value: Value<'a>, origin: Option<Rc<str>>) {
        match self.names.locals.iter_mut().find(|it| it.name == name) {
            Some(it) => (it.value, it.origin) = (value, origin),
            None => self.names.locals.push(Binding { name, value, origin }),
        }
    }

    /// Runs a block into a buffer of its own.
    #[inline(never)]
    fn aside(&mut self, body: &'a Block) -> Result<(String, Flow), Stopped> {
        let outer = std::mem::take(&mut self.out);
        let flow = self.block(body)?;
        Ok((std::mem::replace(&mut self.out, outer), flow))
    }

    /// Every value that matches runs its block, as in Ruby; an `else` runs if none matched before.
    #[inline(never)]
    fn case(&mut self, subject: &'a Primary, arms: &'a [Arm]) -> Result<Flow, Stopped> {
        self.unprinted += 1;
        let subject = self.primary(subject);
        self.unprinted -= 1;
        let mut matched = false;
        for Arm { values, body } in arms {
            let times = match values {
                None => usize::from(!matched),
                Some(values) => {
                    self.unprinted += 1;
                    let times = values.iter().filter(|it| self.primary(it) == subject).count();
                    self.unprinted -= 1;
                    matched |= times > 0;
                    times
                }
            };
            for _ in 0..times {
                let flow = self.block(body)?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
        }
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn cycle(&mut self, name: &'a CycleName, items: &'a [Primary]) {
        let key = match name {
            CycleName::Named(it) => format!("n{}", &*self.primary(it).to_text()),
            CycleName::Items(it) => format!("i{it}"),
            CycleName::Own => format!("o{}", items.as_ptr().addr()),
        };
        let at = self.cycles.iter().position(|(it, _)| *it == key).unwrap_or_else(|| {
            self.cycles.push((key, 0));
            self.cycles.len() - 1
        });
        let index = self.cycles[at].1;
        self.cycles[at].1 = if index + 1 >= items.len() { 0 } else { index + 1 };
        if let Some(it) = items.get(index) {
            let value = self.primary(it);
            self.print(&value);
        }
    }

    /// Prints the counter moved by `before`, and moves it by `step` in all.
    #[inline(never)]
    fn count(&mut self, name: &'a str, before: i64, step: i64) {
        let at = self.names.counters.iter().position(|(it, _)| *it == name).unwrap_or_else(|| {
            self.names.counters.push((name, 0));
            self.names.counters.len() - 1
        });
        let value = self.names.counters[at].1;
        self.names.counters[at].1 = value.saturating_add(step);
        self.print(&Value::Int(value.saturating_add(before)));
    }
}
