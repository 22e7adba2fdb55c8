//! `render` and `include`.

use std::cell::Cell;
use std::rc::Rc;

use super::{Binding, Flow, Machine, Stopped, Whose};
use crate::ast::{Bound, Call, CallScope, Primary, own_variable};
use crate::bounds::CALL_DEPTH;
use crate::filters::{items_of, loop_items};
use crate::unit::Unit;
use crate::value::{LoopKind, LoopState, Value};

/// What a partial runs on.
struct Called<'a> {
    name: &'a str,
    unit: &'a Unit,
    /// What the bound value is called.
    alias: &'a str,
}

impl<'a> Machine<'a> {
    #[inline(never)]
    pub(super) fn call(&mut self, it: &'a Call) -> Result<Flow, Stopped> {
        let partials = self.partials;
        let name = self.primary(&it.partial).to_text();
        let Some((name, unit)) = partials.get(&name, self.mode) else {
            let message = format!("there is no partial `{}`", &*name);
            // Names that are written in the template were checked when it was compiled.
            let stopped = Stopped::new("unknown_partial", it.at, message);
            return Err(Stopped { whose: Whose::Data, ..stopped });
        };
        let alias = it.alias.as_deref().unwrap_or_else(|| own_variable(name));
        let called = Called { name, unit, alias };
        self.depth += CALL_DEPTH;
        let flow = match it.scope {
            CallScope::Shared => self.include(it, &called),
            CallScope::Own => self.render(it, &called).map(|()| Flow::Next),
        };
        self.depth -= CALL_DEPTH;
        flow
    }

    /// Shares the caller's names. Its arguments see those before them.
    fn include(&mut self, it: &'a Call, called: &Called<'a>) -> Result<Flow, Stopped> {
        let bound = it.bound.as_ref().map(|it| self.bound(it.value()));
        let depth = self.names.scopes.len();
        for (name, value) in &it.args {
            let given = self.argument(name, value);
            self.names.scopes.push(given);
        }
        let block = &called.unit.block;
        let mut flow = Flow::Next;
        match bound {
            Some((Value::Array(items), origin)) => {
                let origin: Option<Rc<str>> = origin.map(|it| Rc::from(it + "[]"));
                let at = self.names.scopes.len();
                self.names.scopes.push(Binding { name: called.alias, value: Value::Nil, origin });
                for item in items.iter() {
                    self.names.scopes[at].value = item.clone();
                    flow = self.block(block).map_err(|it| it.within(called.unit))?;
                    if flow == Flow::Break {
                        break;
                    }
                }
                flow = if flow == Flow::Continue { Flow::Next } else { flow };
            }
            bound => {
                if let Some((value, origin)) = bound {
                    let origin = origin.map(Rc::from);
                    self.names.scopes.push(Binding { name: called.alias, value, origin });
                }
                flow = self.block(block).map_err(|it| it.within(called.unit))?;
            }
        }
        self.names.scopes.truncate(depth);
        Ok(flow)
    }

    /// Sees the data and its arguments, and nothing of the caller; each run of a `for` begins anew.
    fn render(&mut self, it: &'a Call, called: &Called<'a>) -> Result<(), Stopped> {
        let bound = it.bound.as_ref().map(|it| self.bound(it.value()));
        let args: Vec<_> = it.args.iter().map(|(name, value)| self.argument(name, value)).collect();
        let outer = self.leave();
        let each = matches!(it.bound, Some(Bound::For(_)));
        match bound {
            Some((value @ (Value::Array(_) | Value::Range(..)), origin)) if each => {
                let items = match loop_items(&value) {
                    Some(items) => items,
                    None => Rc::new(
                        items_of(&value).map_err(|it| Stopped::new("render_error", 0, it.0))?,
                    ),
                };
                let origin: Option<Rc<str>> = origin.map(|it| Rc::from(it + "[]"));
                let state = Rc::new(LoopState {
                    name: called.name,
                    length: items.len() as u64,
                    index: Cell::new(0),
                    parent: None,
                    kind: LoopKind::Call,
                });
                for (i, item) in (0..).zip(items.iter()) {
                    state.index.set(i);
                    self.bind("forloop", Value::Loop(state.clone()), None);
                    self.run_alone(called, args.clone(), Some((item.clone(), origin.clone())))?;
                }
            }
            bound => {
                let bound = bound.map(|(value, origin)| (value, origin.map(Rc::from)));
                self.run_alone(called, args, bound)?;
            }
        }
        self.restore(outer);
        Ok(())
    }

    /// Runs a partial on nothing but what it is given; what that bound is gone afterwards.
    fn run_alone(
        &mut self,
        called: &Called<'a>,
        args: Vec<Binding<'a>>,
        bound: Option<(Value<'a>, Option<Rc<str>>)>,
    ) -> Result<(), Stopped> {
        // They are the partial's own names: `assign` replaces them.
        for it in args {
            self.bind(it.name, it.value, it.origin);
        }
        if let Some((value, origin)) = bound
            && (!matches!(value, Value::Nil) || self.names.binding(called.alias).is_none())
        {
            self.bind(called.alias, value, origin);
        }
        self.block(&called.unit.block).map_err(|it| it.within(called.unit))?;
        self.names.locals.clear();
        self.names.counters.clear();
        self.cycles.clear();
        self.offsets.clear();
        self.changed = None;
        Ok(())
    }

    fn argument(&mut self, name: &'a str, value: &'a Primary) -> Binding<'a> {
        let origin = self.origin_of(value).map(Rc::from);
        Binding { name, origin, value: self.primary(value) }
    }

    fn bound(&mut self, it: &'a Primary) -> (Value<'a>, Option<String>) {
        (self.primary(it), self.origin_of(it))
    }

    /// Puts away what a `render`ed partial must not see.
    fn leave(&mut self) -> Outer<'a> {
        Outer {
            locals: std::mem::take(&mut self.names.locals),
            scopes: std::mem::take(&mut self.names.scopes),
            counters: std::mem::take(&mut self.names.counters),
            cycles: std::mem::take(&mut self.cycles),
            offsets: std::mem::take(&mut self.offsets),
            changed: self.changed.take(),
        }
    }

    fn restore(&mut self, it: Outer<'a>) {
        self.names.locals = it.locals;
        self.names.scopes = it.scopes;
        self.names.counters = it.counters;
        self.cycles = it.cycles;
        self.offsets = it.offsets;
        self.changed = it.changed;
    }
}

/// A caller's state while a `render` runs.
struct Outer<'a> {
    locals: Vec<Binding<'a>>,
    scopes: Vec<Binding<'a>>,
    counters: Vec<(&'a str, i64)>,
    cycles: Vec<(String, usize)>,
    offsets: Vec<(&'a str, i64)>,
    changed: Option<String>,
}
