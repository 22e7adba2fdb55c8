//! `render` and `include`.

use std::cell::Cell;
use std::rc::Rc;

use super::{Binding, CALL_DEPTH, Flow, Machine, Stopped, Whose};
use crate::ast::{Bound, Call, CallScope, Literal, Primary};
use crate::filters::loop_items;
use crate::unit::Unit;
use crate::value::{LoopKind, LoopState, Value};

impl<'a> Machine<'a> {
    #[inline(never)]
    pub(super) fn call(&mut self, it: &'a Call) -> Result<Flow, Stopped> {
        let partials = self.partials;
        let name = self.primary(&it.partial).to_text();
        let Some(unit) = partials.get(&name, self.mode) else {
            let message = format!("there is no partial `{}`", &*name);
            // Names that are written in the template were checked when it was compiled.
            let stopped = Stopped::new("unknown_partial", it.at, message);
            return Err(Stopped { whose: Whose::Data, ..stopped });
        };
        let alias = it.alias.as_deref().or_else(|| literal_name(&it.partial)).unwrap_or_default();
        let args: Vec<_> = it
            .args
            .iter()
            .map(|(name, it)| Binding {
                name,
                origin: self.origin_of(it).map(Rc::from),
                value: self.primary(it),
            })
            .collect();
        let bound = match &it.bound {
            Some(Bound::With(bound)) => Some((bound, self.primary(bound), false)),
            Some(Bound::For(bound)) => Some((bound, self.primary(bound), true)),
            None => None,
        };
        let origin = bound.as_ref().and_then(|(it, ..)| self.origin_of(it));
        let each = bound.as_ref().is_some_and(|(_, value, each)| {
            matches!(value, Value::Array(_) | Value::Range(..))
                && (*each || it.scope == CallScope::Shared)
        });
        let bound = bound.map(|(_, value, _)| value);
        match it.scope {
            CallScope::Shared => self.include(unit, alias, args, bound, origin, each),
            CallScope::Own => {
                let outer = self.leave();
                // Arguments are the partial's own names: `assign` replaces them.
                self.locals = args;
                let flow = self.include(unit, alias, Vec::new(), bound, origin, each);
                self.restore(outer);
                flow.map(|_| Flow::Next)
            }
        }
    }

    fn include(
        &mut self,
        unit: &'a Unit,
        alias: &'a str,
        args: Vec<Binding<'a>>,
        bound: Option<Value<'a>>,
        origin: Option<String>,
        each: bool,
    ) -> Result<Flow, Stopped> {
        let depth = self.scopes.len();
        self.depth += CALL_DEPTH;
        self.scopes.extend(args);
        let flow = match bound {
            Some(value) if each => self.for_each(unit, alias, &value, origin),
            bound => {
                if let Some(value) = bound {
                    let origin = origin.map(Rc::from);
                    self.scopes.push(Binding { name: alias, value, origin });
                }
                self.block(&unit.block)
            }
        };
        self.scopes.truncate(depth);
        self.depth -= CALL_DEPTH;
        flow.map_err(|it| it.within(unit))
    }

    fn for_each(
        &mut self,
        unit: &'a Unit,
        alias: &'a str,
        value: &Value<'a>,
        origin: Option<String>,
    ) -> Result<Flow, Stopped> {
        let items = match loop_items(value) {
            Some(items) => items,
            None => Rc::new(
                crate::filters::items_of(value)
                    .map_err(|it| Stopped::new("render_error", 0, it.0))?,
            ),
        };
        let (length, index) = (items.len() as u64, Cell::new(0));
        let state =
            Rc::new(LoopState { name: alias, length, index, parent: None, kind: LoopKind::Call });
        let depth = self.scopes.len();
        let origin: Option<Rc<str>> = origin.map(|it| Rc::from(it + "[]"));
        self.scopes.push(Binding {
            name: "forloop",
            value: Value::Loop(state.clone()),
            origin: None,
        });
        self.scopes.push(Binding { name: alias, value: Value::Nil, origin });
        let at = depth + 1;
        let mut flow = Flow::Next;
        for (i, item) in (0..).zip(items.iter()) {
            state.index.set(i);
            self.scopes[at].value = item.clone();
            flow = self.block(&unit.block)?;
            if flow == Flow::Break {
                break;
            }
        }
        self.scopes.truncate(depth);
        Ok(if flow == Flow::Continue { Flow::Next } else { flow })
    }

    /// Puts away what a `render`ed partial must not see.
    fn leave(&mut self) -> Outer<'a> {
        Outer {
            locals: std::mem::take(&mut self.locals),
            scopes: std::mem::take(&mut self.scopes),
            counters: std::mem::take(&mut self.counters),
            cycles: std::mem::take(&mut self.cycles),
        }
    }

    fn restore(&mut self, it: Outer<'a>) {
        self.locals = it.locals;
        self.scopes = it.scopes;
        self.counters = it.counters;
        self.cycles = it.cycles;
    }
}

/// A caller's state while a `render` runs.
struct Outer<'a> {
    locals: Vec<Binding<'a>>,
    scopes: Vec<Binding<'a>>,
    counters: Vec<(&'a str, i64)>,
    cycles: Vec<(String, usize)>,
}

/// What a partial's value is called without `as`.
fn literal_name(it: &Primary) -> Option<&str> {
    if let Primary::Literal(Literal::Str(name) | Literal::Markup(name)) = it {
        Some(name)
    } else {
        None
    }
}
