//! What the names of a template stand for while it runs.

use std::rc::Rc;

use crate::ast::{Path, Root, Segment};
use crate::value::{Object, Value, is_same};

/// A name, its value, and the path in the data where that value comes from.
#[derive(Debug, Clone)]
pub struct Binding<'a> {
    pub name: &'a str,
    pub value: Value<'a>,
    pub origin: Option<Rc<str>>,
}

/// The data, and what hides it.
pub struct Names<'a> {
    pub data: Rc<Object<'a>>,
    /// Variables that `assign` and `capture` have set.
    pub locals: Vec<Binding<'a>>,
    /// Variables of loops and of calls of partials, innermost last; they hide `locals`.
    pub scopes: Vec<Binding<'a>>,
    pub counters: Vec<(&'a str, i64)>,
}

impl<'a> Names<'a> {
    pub fn new(data: Rc<Object<'a>>) -> Self {
        Self { data, locals: Vec::new(), scopes: Vec::new(), counters: Vec::new() }
    }

    /// Leaves nothing but the data.
    pub fn clear(&mut self) {
        self.locals.clear();
        self.scopes.clear();
        self.counters.clear();
    }

    pub fn binding(&self, name: &str) -> Option<&Binding<'a>> {
        let scopes = self.scopes.iter().rev();
        scopes.chain(&self.locals).find(|it| is_same(it.name, name))
    }

    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        if let Some(it) = self.binding(name) {
            return Some(it.value.clone());
        }
        // Counters are the template's own: they hide data of the same name.
        if let Some(it) = self.counter(name) {
            return Some(Value::Int(it));
        }
        Some(self.data.get(name)?.clone())
    }

    pub fn counter(&self, name: &str) -> Option<i64> {
        self.counters.iter().find(|(it, _)| *it == name).map(|(_, it)| *it)
    }

    /// Borrows the value at a path of which every segment is a key of an object, as in nearly all templates. Answers none for
    /// any other path, and where the value is absent or nil.
    pub fn look(&self, path: &Path) -> Option<&Value<'a>> {
        let Root::Name(name) = &path.root else { return None };
        let mut value = match self.binding(name) {
            Some(it) => &it.value,
            None if self.counter(name).is_some() => return None,
            None => self.data.get(name)?,
        };
        for segment in &path.segments {
            let (Segment::Key(key) | Segment::Item(key), Value::Object(object)) = (segment, value)
            else {
                return None;
            };
            value = object.get(key)?;
        }
        (!matches!(value, Value::Nil)).then_some(value)
    }
}
