//! Places in a document: to find what a fault is about, to take it out, and to put something in its place.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key, or a place in an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// As an operator writes it: `delivery.rules[0].route`.
pub fn dotted(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}

/// The way to the smallest thing that covers `span`.
pub fn narrowest(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<Step>> {
    let mut found = Vec::new();
    look_in_table(table, span, &mut Vec::new(), &mut found);
    found.into_iter().min_by_key(|(length, _)| *length).map(|(_, path)| path)
}

pub fn value<'a, 'text>(table: &'a DeTable<'text>, path: &[Step]) -> Option<&'a DeValue<'text>> {
    let (Step::Key(key), rest) = path.split_first()? else { return None };
    let first = table.get(key.as_str())?.get_ref();
    rest.iter().try_fold(first, |value, step| {
        let inner = match step {
            Step::Key(key) => value.as_table()?.get(key.as_str()),
            Step::Index(index) => value.as_array()?.get(*index),
        };
        Some(inner?.get_ref())
    })
}

fn value_mut<'a, 'text>(
    table: &'a mut DeTable<'text>,
    path: &[Step],
) -> Option<&'a mut DeValue<'text>> {
    let (Step::Key(key), rest) = path.split_first()? else { return None };
    let first = table.get_mut(key.as_str())?.get_mut();
    rest.iter().try_fold(first, |value, step| {
        let inner = match (step, value) {
            (Step::Key(key), DeValue::Table(table)) => table.get_mut(key.as_str()),
            (Step::Index(index), DeValue::Array(array)) => array.get_mut(*index),
            _ => None,
        };
        Some(inner?.get_mut())
    })
}

fn table_mut<'a, 'text>(
    table: &'a mut DeTable<'text>,
    path: &[Step],
) -> Option<&'a mut DeTable<'text>> {
    if path.is_empty() {
        return Some(table);
    }
    if let DeValue::Table(table) = value_mut(table, path)? { Some(table) } else { None }
}

/// Takes a value out. The tables of an array keep their places: one that is taken out becomes empty.
pub fn take_out(table: &mut DeTable<'_>, path: &[Step]) {
    match path.split_last() {
        Some((Step::Key(key), parent)) => {
            if let Some(parent) = table_mut(table, parent) {
                parent.remove(key.as_str());
            }
        }
        Some((Step::Index(index), parent)) => {
            let Some(DeValue::Array(array)) = value_mut(table, parent) else { return };
            if !array.iter().any(|it| it.get_ref().is_table()) {
                keep(array, |at| at != *index);
            } else if let Some(element) = array.get_mut(*index) {
                *element.get_mut() = DeValue::Table(DeTable::new());
            }
        }
        None => {}
    }
}

/// Leaves one element of an array.
pub fn leave_only(table: &mut DeTable<'_>, array: &[Step], index: usize) {
    if let Some(DeValue::Array(array)) = value_mut(table, array) {
        keep(array, |at| at == index);
    }
}

fn keep(array: &mut toml::de::DeArray<'_>, kept: impl Fn(usize) -> bool) {
    let elements = array.clone().into_iter().enumerate();
    *array = elements.filter(|(at, _)| kept(*at)).map(|(_, element)| element).collect();
}

/// Puts a text at a key that is not there; `at` is where a fault of it would be.
pub fn put<'text>(table: &mut DeTable<'text>, path: &[Step], text: &'text str, at: usize) {
    let Some((Step::Key(key), parent)) = path.split_last() else { return };
    if let Some(parent) = table_mut(table, parent) {
        let key = Spanned::new(at..at, Cow::Owned(key.clone()));
        parent.insert(key, Spanned::new(at..at, DeValue::String(Cow::Borrowed(text))));
    }
}

type Found = Vec<(usize, Vec<Step>)>;

fn look_in_table(
    table: &DeTable<'_>,
    span: &Range<usize>,
    path: &mut Vec<Step>,
    found: &mut Found,
) {
    for (key, value) in table {
        path.push(Step::Key(key.get_ref().to_string()));
        let (key, value_at) = (key.span(), value.span());
        let both = key.start.min(value_at.start)..key.end.max(value_at.end);
        note(&both, span, path, found);
        look_in_value(value, span, path, found);
        path.pop();
    }
}

fn look_in_value(
    value: &Spanned<DeValue<'_>>,
    span: &Range<usize>,
    path: &mut Vec<Step>,
    found: &mut Found,
) {
    if let Some(table) = value.get_ref().as_table() {
        look_in_table(table, span, path, found);
    }
    for (index, element) in value.get_ref().as_array().into_iter().flatten().enumerate() {
        path.push(Step::Index(index));
        note(&element.span(), span, path, found);
        look_in_value(element, span, path, found);
        path.pop();
    }
}

fn note(covered: &Range<usize>, span: &Range<usize>, path: &[Step], found: &mut Found) {
    if covered.start <= span.start && span.end <= covered.end {
        found.push((covered.len(), path.to_vec()));
    }
}
