//! `for` and `tablerow`.

use std::cell::Cell;
use std::rc::Rc;

use super::{Binding, Flow, Machine, Stopped};
use crate::ast::{For, Offset, Primary, SourceOffset};
use crate::filters::{loop_items, to_integer};
use crate::mode::Mode;
use crate::plaintext::FRESH_LINE;
use crate::value::{LoopKind, LoopState, Value};

/// What a loop goes over; a range is never expanded.
struct Items<'a> {
    all: Source<'a>,
    from: u64,
    length: u64,
    reversed: bool,
}

enum Source<'a> {
    Array(Rc<Vec<Value<'a>>>),
    /// The first of a range.
    Range(i64),
}

impl<'a> Items<'a> {
    fn get(&self, index: u64) -> Value<'a> {
        let at = self.from + if self.reversed { self.length - 1 - index } else { index };
        match &self.all {
            Source::Array(items) => {
                let item = usize::try_from(at).ok().and_then(|at| items.get(at));
                item.cloned().unwrap_or(Value::Nil)
            }
            Source::Range(first) => {
                Value::Int(first.saturating_add(i64::try_from(at).unwrap_or(i64::MAX)))
            }
        }
    }
}

impl<'a> Machine<'a> {
    #[inline(never)]
    pub(super) fn for_loop(&mut self, it: &'a For) -> Result<Flow, Stopped> {
        let items = self.items(it)?;
        if items.length == 0 {
            return it.otherwise.as_ref().map_or(Ok(Flow::Next), |it| self.block(it));
        }
        let state = self.enter(it, items.length, LoopKind::For);
        let depth = self.scopes.len();
        for index in 0..items.length {
            state.index.set(index);
            self.scopes[depth - 1].value = items.get(index);
            if self.block(&it.body)? == Flow::Break {
                break;
            }
        }
        self.scopes.truncate(depth - 2);
        Ok(Flow::Next)
    }

    #[inline(never)]
    pub(super) fn table_row(&mut self, it: &'a For) -> Result<(), Stopped> {
        let items = self.items(it)?;
        let columns = match &it.columns {
            Some(columns) => Some(self.columns(it.at, columns)?),
            None => None,
        };
        let columns = columns.unwrap_or(items.length).max(1);
        let state = self.enter(it, items.length, LoopKind::TableRow { columns });
        let depth = self.scopes.len();
        self.markup(format_args!("<tr class=\"row1\">\n"), FRESH_LINE);
        for index in 0..items.length {
            state.index.set(index);
            self.scopes[depth - 1].value = items.get(index);
            let column = index % columns + 1;
            self.markup(format_args!("<td class=\"col{column}\">"), ' ');
            let flow = self.block(&it.body)?;
            self.markup(format_args!("</td>"), ' ');
            if flow == Flow::Break {
                break;
            }
            if (index + 1) % columns == 0 && index + 1 < items.length {
                let row = (index + 1) / columns + 1;
                self.markup(format_args!("</tr>\n<tr class=\"row{row}\">"), FRESH_LINE);
            }
        }
        self.markup(format_args!("</tr>\n"), FRESH_LINE);
        self.scopes.truncate(depth - 2);
        Ok(())
    }

    /// The markup of a table; in text that was derived from HTML only its layout.
    fn markup(&mut self, html: std::fmt::Arguments<'_>, derived: char) {
        if self.mode == Mode::Derived {
            self.out.push(derived);
        } else {
            put!(self.out, "{html}");
        }
    }

    /// Binds `forloop` and then the loop's variable.
    fn enter(&mut self, it: &'a For, length: u64, kind: LoopKind) -> Rc<LoopState<'a>> {
        let name = if kind == LoopKind::For { "forloop" } else { "tablerowloop" };
        let parent =
            self.scopes.iter().rev().find(|it| it.name == name).and_then(|it| {
                if let Value::Loop(it) = &it.value { Some(it.clone()) } else { None }
            });
        let parent = parent.filter(|it| it.kind != LoopKind::Call);
        let index = Cell::new(0);
        let state = Rc::new(LoopState { name: &it.name, length, index, parent, kind });
        let origin = self.origin_of(&it.collection).map(|it| Rc::from(it + "[]"));
        self.scopes.push(Binding { name, value: Value::Loop(state.clone()), origin: None });
        self.scopes.push(Binding { name: &it.variable, value: Value::Nil, origin });
        state
    }

    fn items(&mut self, it: &'a For) -> Result<Items<'a>, Stopped> {
        let collection = self.primary(&it.collection);
        let all = match (&collection, loop_items(&collection)) {
            (_, Some(items)) => Source::Array(items),
            (Value::Range(from, _), None) => Source::Range(*from),
            (_, None) => Source::Array(Rc::default()),
        };
        let length = match (&all, &collection) {
            (Source::Array(items), _) => items.len() as u64,
            (Source::Range(from), Value::Range(_, to)) if from <= to => {
                to.abs_diff(*from).saturating_add(1)
            }
            (Source::Range(_), _) => 0,
        };
        if !self.lenient
            && matches!(
                collection,
                Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_)
            )
        {
            let path = self.origin_of(&it.collection);
            if path.is_some() {
                self.wrong_type(path, "a loop needs an array or an object");
            }
        }
        let from = match &it.offset {
            Offset::None => 0,
            Offset::At(offset) => self.whole(it.at, offset)?.unwrap_or(0),
            Offset::Continue => {
                self.offsets.iter().find(|(name, _)| *name == &*it.name).map_or(0, |(_, it)| *it)
            }
        };
        let from = from.min(length);
        let limit = match &it.limit {
            Some(limit) => self.whole(it.at, limit)?,
            None => None,
        };
        let length = (length - from).min(limit.unwrap_or(u64::MAX));
        self.offsets.retain(|(name, _)| *name != &*it.name);
        self.offsets.push((&it.name, from + length));
        Ok(Items { all, from, length, reversed: it.reversed })
    }

    /// `nil` is no limit; a negative one is 0.
    fn whole(&mut self, at: SourceOffset, it: &'a Primary) -> Result<Option<u64>, Stopped> {
        let value = self.primary(it);
        if matches!(value, Value::Nil) {
            return Ok(None);
        }
        to_integer(&value).map(|it| Some(u64::try_from(it).unwrap_or(0))).ok_or_else(|| {
            Stopped::new("render_error", at, "`limit` and `offset` take whole numbers")
        })
    }

    fn columns(&mut self, at: SourceOffset, it: &'a Primary) -> Result<u64, Stopped> {
        let value = self.primary(it);
        let number = crate::filters::Number::of(&value).whole(f64::trunc);
        let crate::filters::Number::Int(columns) = number else {
            return Err(Stopped::new("render_error", at, "`cols` takes a whole number"));
        };
        Ok(u64::try_from(columns).unwrap_or(1))
    }
}
