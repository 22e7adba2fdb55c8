//! What `forloop` and `tablerowloop` answer.

use std::cell::Cell;
use std::rc::Rc;

use crate::value::Value;

/// Where a loop is.
#[derive(Debug)]
pub struct LoopState<'a> {
    /// The loop as written, e.g. `item-order.items`.
    pub name: &'a str,
    pub length: u64,
    /// From 0.
    pub index: Cell<u64>,
    pub parent: Option<Rc<Self>>,
    pub kind: LoopKind,
}

/// What makes the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopKind {
    For,
    /// `render … for`: no loop's parent.
    Call,
    TableRow {
        columns: u64,
    },
}

impl<'a> LoopState<'a> {
    pub fn property(&self, key: &str) -> Option<Value<'a>> {
        let index = self.index.get();
        let left = self.length.saturating_sub(index + 1);
        Some(match key {
            "index" => (index + 1).into(),
            "index0" => index.into(),
            "rindex" => (left + 1).into(),
            "rindex0" => left.into(),
            "first" => Value::Bool(index == 0),
            "last" => Value::Bool(left == 0),
            "length" => self.length.into(),
            "name" => self.name.into(),
            "parentloop" => self.parent.clone().map_or(Value::Nil, Value::Loop),
            _ => return self.cell(index, key),
        })
    }

    fn cell(&self, index: u64, key: &str) -> Option<Value<'a>> {
        let LoopKind::TableRow { columns } = self.kind else {
            return None;
        };
        let columns = columns.max(1);
        let column = index % columns;
        Some(match key {
            "col" => (column + 1).into(),
            "col0" => column.into(),
            "col_first" => Value::Bool(column == 0),
            "col_last" => Value::Bool(column + 1 == columns),
            "row" => (index / columns + 1).into(),
            _ => return None,
        })
    }
}
