//! `for` and `tablerow`.

use std::cell::Cell;
use std::rc::Rc;

use super::{Binding, Flow, Machine, Stopped};
use waxwing_html_text::FRESH_LINE;

use crate::ast::{For, Offset, Primary, SourceOffset};
use crate::filters::{Number, loop_items, saturating_integer};
use crate::mode::Mode;
use crate::template::Undefined;
use crate::value::{LoopKind, LoopState, Value, cell};

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
        let collection = self.primary(&it.collection);
        let items = self.items(it, &collection, loop_number)?;
        if items.length == 0 {
            return it.otherwise.as_ref().map_or(Ok(Flow::Next), |it| self.block(it));
        }
        let state = self.enter(it, items.length, LoopKind::For);
        let depth = self.names.scopes.len();
        for index in 0..items.length {
            self.names.scopes[depth - 1].value = items.get(index);
            let flow = self.block(&it.body)?;
            // Counted before a `break`: an `assign` may have kept the `forloop`.
            state.index.set(index + 1);
            if flow == Flow::Break {
                break;
            }
        }
        self.names.scopes.truncate(depth - 2);
        Ok(Flow::Next)
    }

    #[inline(never)]
    pub(super) fn table_row(&mut self, it: &'a For) -> Result<(), Stopped> {
        let collection = self.primary(&it.collection);
        if !collection.is_truthy() {
            return Ok(());
        }
        let items = self.items(it, &collection, row_number)?;
        let columns = match &it.columns {
            Some(columns) => self.number(it.at, columns, row_number)?.unwrap_or(0),
            None => i64::try_from(items.length).unwrap_or(i64::MAX),
        };
        // Below 1 a row never ends.
        let columns = u64::try_from(columns).unwrap_or(0);
        let state = self.enter(it, items.length, LoopKind::TableRow { columns });
        let depth = self.names.scopes.len();
        self.markup(format_args!("<tr class=\"row1\">\n"), FRESH_LINE);
        for index in 0..items.length {
            state.index.set(index);
            self.names.scopes[depth - 1].value = items.get(index);
            let (row, column) = cell(index, columns);
            self.markup(format_args!("<td class=\"col{}\">", column + 1), ' ');
            let flow = self.block(&it.body)?;
            self.markup(format_args!("</td>"), ' ');
            if flow == Flow::Break {
                break;
            }
            if column + 1 == columns && index + 1 < items.length {
                self.markup(format_args!("</tr>\n<tr class=\"row{}\">", row + 2), FRESH_LINE);
            }
        }
        self.markup(format_args!("</tr>\n"), FRESH_LINE);
        self.names.scopes.truncate(depth - 2);
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
            self.names.scopes.iter().rev().find(|it| it.name == name).and_then(|it| {
                if let Value::Loop(it) = &it.value { Some(it.clone()) } else { None }
            });
        let parent = parent.filter(|it| it.kind != LoopKind::Call);
        let index = Cell::new(0);
        let state = Rc::new(LoopState { name: &it.name, length, index, parent, kind });
        let origin = self.origin_of(&it.collection).map(|it| Rc::from(it + "[]"));
        self.names.scopes.push(Binding { name, value: Value::Loop(state.clone()), origin: None });
        self.names.scopes.push(Binding { name: &it.variable, value: Value::Nil, origin });
        state
    }

    /// The items from `offset` to `offset` + `limit`, a sum that is made before either end is cut, as in
    /// Ruby: `offset: -2 limit: 3` is the first item.
    fn items(
        &mut self,
        it: &'a For,
        collection: &Value<'a>,
        rule: NumberRule,
    ) -> Result<Items<'a>, Stopped> {
        let (all, length) = match (loop_items(collection), collection) {
            (Some(items), _) => {
                let length = items.len() as u64;
                (Source::Array(items), length)
            }
            (None, Value::Range(from, to)) if from <= to => {
                (Source::Range(*from), to.abs_diff(*from).saturating_add(1))
            }
            (None, _) => (Source::Array(Rc::default()), 0),
        };
        if self.undefined == Undefined::Required
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
            Offset::At(offset) => self.number(it.at, offset, rule)?.unwrap_or(0),
            Offset::Continue => {
                self.offsets.iter().find(|(name, _)| *name == &*it.name).map_or(0, |(_, it)| *it)
            }
        };
        let to = match &it.limit {
            Some(limit) => self.number(it.at, limit, rule)?.map(|it| it.saturating_add(from)),
            None => None,
        };
        let at = |it: i64| u64::try_from(it).unwrap_or(0);
        let start = at(from).min(length);
        let end = to.map_or(length, at).min(length);
        // A string is one item, wherever the loop begins and ends.
        let (start, length) = if collection.as_str().is_some() {
            (0, length)
        } else {
            (start, end.saturating_sub(start))
        };
        self.offsets.retain(|(name, _)| *name != &*it.name);
        let passed = i64::try_from(length).unwrap_or(i64::MAX);
        self.offsets.push((&it.name, from.saturating_add(passed)));
        Ok(Items { all, from: start, length, reversed: it.reversed })
    }

    fn number(
        &mut self,
        at: SourceOffset,
        it: &'a Primary,
        rule: NumberRule,
    ) -> Result<Option<i64>, Stopped> {
        rule(&self.primary(it)).map_err(|NotWhole| {
            Stopped::new("render_error", at, "`limit`, `offset` and `cols` take whole numbers")
        })
    }
}

/// What an attribute of a loop makes of its value.
type NumberRule = fn(&Value<'_>) -> Result<Option<i64>, NotWhole>;

struct NotWhole;

/// Of a `for`: `nil` is as if the attribute were not there.
fn loop_number(it: &Value<'_>) -> Result<Option<i64>, NotWhole> {
    if matches!(it, Value::Nil) {
        return Ok(None);
    }
    saturating_integer(it).map(Some).ok_or(NotWhole)
}

/// Of a `tablerow`: `nil` and text without digits are 0.
fn row_number(it: &Value<'_>) -> Result<Option<i64>, NotWhole> {
    match it {
        Value::Nil => Ok(Some(0)),
        Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Safe(_) => {
            match Number::of(it).whole(f64::trunc) {
                Number::Int(it) => Ok(Some(it)),
                Number::Float(_) => Err(NotWhole),
            }
        }
        Value::Blank
        | Value::Empty
        | Value::Bool(_)
        | Value::Array(_)
        | Value::Object(_)
        | Value::Range(..)
        | Value::Loop(_) => Err(NotWhole),
    }
}
