//! A configuration as it was written: every fault of the file and of the environment at once.
//!
//! serde stops at the first fault. So what is at fault is taken out and the rest is read again, until
//! nothing is at fault any more.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::{Config, environment};

/// More faults than this are not of interest to anybody.
const MAX_FAULTS: usize = 50;

/// From this similarity on (Jaro-Winkler, 0 to 1) a key is taken for a misspelling of another, as clap
/// does for arguments.
const MIN_SIMILARITY: f64 = 0.8;

/// A key, or a place in an array.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The sound part of a file; each fault is added to `faults` with line, column and key.
///
/// A fault never shows the line itself: a password may stand there, and a log has more readers than the
/// file.
pub(super) fn file(text: &str, faults: &mut Vec<String>) -> toml::Table {
    let (mut document, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        // What can be recovered of a broken file would only give faults that follow from the first.
        faults.extend(broken.iter().take(MAX_FAULTS).map(|error| fault(text, error, &[])));
        return toml::Table::new();
    }
    while let Err(error) = Config::deserialize(Deserializer::from(document.clone())) {
        let path = error.span().and_then(|span| narrowest(document.get_ref(), &span));
        let path = path.map(|path| narrowed(&document, path, &error));
        faults.push(fault(text, &error, path.as_deref().unwrap_or_default()));
        match path {
            Some(path) if faults.len() < MAX_FAULTS => take_out(document.get_mut(), &path),
            Some(_) | None => return toml::Table::new(),
        }
    }
    toml::Table::deserialize(Deserializer::from(document)).unwrap_or_else(|error| {
        faults.push(fault(text, &error, &[]));
        toml::Table::new()
    })
}

/// Lays the variables of the environment over the table, but for those that are at fault.
pub(super) fn variables(
    table: &mut toml::Table,
    variables: impl Iterator<Item = (String, String)>,
    faults: &mut Vec<String>,
) {
    for (name, value) in variables {
        let Some(path) = environment::path(&name) else { continue };
        let mut with_it = table.clone();
        environment::insert(&mut with_it, &path, environment::typed(&value));
        match Config::deserialize(with_it.clone()) {
            Ok(_) => *table = with_it,
            Err(error) => faults.push(format!("{name}: {}", words(error.message()))),
        }
    }
}

fn fault(text: &str, error: &Error, path: &[Step]) -> String {
    let message = words(error.message());
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return message };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |it| it.chars().count()) + 1;
    let keys: Vec<&str> = path.iter().filter_map(Step::key).collect();
    let at = if keys.is_empty() { String::new() } else { format!(", at `{}`", keys.join(".")) };
    format!("line {line}, column {column}{at}: {message}")
}

/// serde's message on one line. Of a misspelt key, the message names the most similar valid one.
fn words(message: &str) -> String {
    let line = message.replace('\n', ", ");
    let mut keys = line.split('`').skip(1).step_by(2);
    let unknown = keys.next().filter(|_| line.starts_with("unknown "));
    let similar = unknown.and_then(|unknown| {
        let similarity = |key: &str| strsim::jaro_winkler(unknown, key);
        let likely = keys.filter(|key| similarity(key) >= MIN_SIMILARITY);
        likely.max_by(|one, two| similarity(one).total_cmp(&similarity(two)))
    });
    match similar {
        Some(key) => format!("{line}; did you mean `{key}`?"),
        None => line,
    }
}

/// The way to the smallest thing that covers `span`.
fn narrowest(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<Step>> {
    let mut found = Vec::new();
    look_in_table(table, span, &mut Vec::new(), &mut found);
    found.into_iter().min_by_key(|(length, _)| *length).map(|(_, path)| path)
}

/// An element that is made of a text has no place in serde's error, which names the whole array. The way
/// to the element: the one that gives the same error alone.
fn narrowed(document: &Spanned<DeTable<'_>>, path: Vec<Step>, error: &Error) -> Vec<Step> {
    let array = value(document.get_ref(), &path).and_then(DeValue::as_array);
    let elements = array.map_or(0, |array| array.len());
    let element = |index| [path.as_slice(), &[Step::Index(index)]].concat();
    let is_same = |index: &usize| {
        let mut alone = document.clone();
        let others = (0..elements).rev().filter(|other| other != index);
        others.for_each(|other| take_out(alone.get_mut(), &element(other)));
        let alone = Config::deserialize(Deserializer::from(alone));
        alone.is_err_and(|it| it.message() == error.message())
    };
    // A long array would be read as often as it has elements.
    let found = (0..elements.min(MAX_FAULTS)).find(is_same).map(element);
    found.unwrap_or(path)
}

fn value<'a, 'text>(table: &'a DeTable<'text>, path: &[Step]) -> Option<&'a DeValue<'text>> {
    let (Step::Key(key), mut rest) = path.split_first()? else { return None };
    let mut value = table.get(key.as_str())?.get_ref();
    while let Some((step, after)) = rest.split_first() {
        let inner = match step {
            Step::Key(key) => value.as_table()?.get(key.as_str()),
            Step::Index(index) => value.as_array()?.get(*index),
        };
        (value, rest) = (inner?.get_ref(), after);
    }
    Some(value)
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

fn take_out(table: &mut DeTable<'_>, path: &[Step]) {
    let Some((Step::Key(key), rest)) = path.split_first() else { return };
    match (rest.is_empty(), table.get_mut(key.as_str())) {
        (true, _) => drop(table.remove(key.as_str())),
        (false, Some(value)) => take_out_of_value(value.get_mut(), rest),
        (false, None) => {}
    }
}

fn take_out_of_value(value: &mut DeValue<'_>, path: &[Step]) {
    match (value, path) {
        (DeValue::Table(table), path) => take_out(table, path),
        (DeValue::Array(array), [Step::Index(index)]) => {
            let rest = array.clone().into_iter().enumerate();
            *array = rest.filter(|(at, _)| at != index).map(|(_, element)| element).collect();
        }
        (DeValue::Array(array), [Step::Index(index), rest @ ..]) => {
            let elements: &mut [Spanned<DeValue<'_>>] = array;
            if let Some(element) = elements.get_mut(*index) {
                take_out_of_value(element.get_mut(), rest);
            }
        }
        _ => {}
    }
}

impl Step {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }
}
