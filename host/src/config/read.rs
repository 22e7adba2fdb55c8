//! A configuration as it was written: every fault of the file and of the environment at once.
//!
//! serde stops at the first fault. So what is at fault is taken out and the rest is read again, until
//! nothing is at fault any more. A stand-in takes the place of a required key, so that the rest of its table
//! is checked, too.

mod place;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::environment;
use super::sections::Config;
use super::unreadable_keys::UnreadableKeys;
use place::Step;

/// More faults than this are not of interest to anybody.
const MAX_FAULTS: usize = 50;

/// From this similarity on (Jaro-Winkler, 0 to 1) a key is taken for a misspelling of another, as clap
/// does for arguments.
const MIN_SIMILARITY: f64 = 0.8;

/// Stands in for a required key: valid as a name, a host and a route.
const STAND_IN: &str = "smarthost";

/// What the file and the environment say.
#[derive(Debug, Default)]
pub struct Written {
    /// What could be read.
    pub table: toml::Table,
    /// What could not, and why.
    pub faults: Vec<String>,
    pub unreadable: UnreadableKeys,
}

/// The sound part of a document, and what was wrong with the rest.
struct Sifted {
    table: toml::Table,
    faults: Vec<Fault>,
    unreadable: Vec<Vec<Step>>,
}

/// A document that is read again and again.
struct Sieve<'text> {
    document: Spanned<DeTable<'text>>,
    faults: Vec<Fault>,
    /// Keys that were taken out or have a stand-in, and tables that were emptied.
    replaced: Vec<Vec<Step>>,
    /// Elements that were taken out of lists.
    elements: Vec<Vec<Step>>,
    stand_ins: Vec<Vec<Step>>,
}

struct Fault {
    at: Option<Range<usize>>,
    path: Vec<Step>,
    message: String,
}

impl Written {
    /// The sound part of a file; each fault has line, column and key.
    ///
    /// A fault never shows the line itself: a password may stand there, and a log has more readers than the
    /// file.
    pub fn file(text: &str) -> Self {
        let (document, broken) = DeTable::parse_recoverable(text);
        let mut written = Self::default();
        if !broken.is_empty() {
            // What can be recovered of a broken file would only give faults that follow from the first.
            let faults = broken.iter().take(MAX_FAULTS).map(|error| Fault::new(error, Vec::new()));
            written.faults.extend(faults.map(|fault| fault.in_file(text)));
            written.unreadable.add(String::new());
            return written;
        }
        let sifted = Sifted::new(document);
        written.table = sifted.table;
        written.faults.extend(sifted.faults.iter().map(|fault| fault.in_file(text)));
        sifted.unreadable.iter().for_each(|path| written.unreadable.add(place::dotted(path)));
        written
    }

    /// The sections in which something stands.
    pub fn sections(&self) -> BTreeSet<String> {
        let sets = |section: &toml::Value| section.as_table().is_some_and(|it| !it.is_empty());
        self.table.iter().filter(|(_, it)| sets(it)).map(|(name, _)| name.clone()).collect()
    }

    /// Lays the variables of the environment above it, but for what is at fault with them.
    pub fn add_variables(&mut self, variables: impl Iterator<Item = (String, String)>) {
        for (name, value) in variables {
            if let Some(keys) = environment::path(&name) {
                self.add_variable(&name, &keys, &value);
            }
        }
    }

    fn add_variable(&mut self, name: &str, keys: &[String], value: &str) {
        let text = environment::document(keys, value);
        let sifted = match DeTable::parse(&text) {
            Ok(document) => Sifted::new(document),
            Err(error) => {
                self.faults.push(format!("{name}: {}", words(error.message())));
                return;
            }
        };
        self.faults.extend(sifted.faults.iter().map(|fault| fault.in_variable(name, keys.len())));
        let key = keys.join(".");
        match environment::get(&sifted.table, keys) {
            Some(value) => {
                environment::insert(&mut self.table, keys, value.clone());
                self.unreadable.replace(key);
                let parts = sifted.unreadable.iter().map(|path| place::dotted(path));
                parts.for_each(|part| self.unreadable.add(part));
            }
            // What the file says there is still to be checked.
            None if environment::get(&self.table, keys).is_some() => {}
            None => self.unreadable.add(key),
        }
    }
}

impl Sifted {
    fn new(document: Spanned<DeTable<'_>>) -> Self {
        let mut sieve = Sieve {
            document,
            faults: Vec::new(),
            replaced: Vec::new(),
            elements: Vec::new(),
            stand_ins: Vec::new(),
        };
        while let Err(error) = Config::deserialize(Deserializer::from(sieve.document.clone())) {
            if !sieve.mend(&error) || sieve.faults.len() == MAX_FAULTS {
                return Self::nothing(sieve.faults);
            }
        }
        match toml::Table::deserialize(Deserializer::from(sieve.document)) {
            Ok(table) => Self {
                table,
                faults: sieve.faults,
                unreadable: [sieve.replaced, sieve.elements].concat(),
            },
            Err(error) => {
                sieve.faults.push(Fault::new(&error, Vec::new()));
                Self::nothing(sieve.faults)
            }
        }
    }

    fn nothing(faults: Vec<Fault>) -> Self {
        Self { table: toml::Table::new(), faults, unreadable: vec![Vec::new()] }
    }
}

impl Sieve<'_> {
    /// Notes a fault, and takes out what it is about; false where that cannot be found.
    fn mend(&mut self, error: &Error) -> bool {
        let path = error.span().and_then(|it| place::narrowest(self.document.get_ref(), &it));
        let Some(path) = path.map(|path| narrowed(&self.document, &path, error)) else {
            self.faults.push(Fault::new(error, Vec::new()));
            return false;
        };
        if let Some(key) = missing_key(error) {
            let key = [path.as_slice(), &[key]].concat();
            self.note(error, &key, path);
            let start = error.span().map_or(0, |span| span.start);
            place::put(self.document.get_mut(), &key, STAND_IN, start);
            self.replaced.push(key.clone());
            self.stand_ins.push(key);
        } else if self.stand_ins.contains(&path) {
            // No text can stand there: then the whole table goes.
            let (_, table) = path.split_last().unwrap_or((&Step::Index(0), &[]));
            place::take_out(self.document.get_mut(), table);
            self.replaced.push(table.to_vec());
        } else if let Some(list) = self.list_of_texts(&path) {
            self.note(error, &path, list);
            place::take_out(self.document.get_mut(), &path);
            self.elements.push(path);
        } else {
            self.note(error, &path, path.clone());
            place::take_out(self.document.get_mut(), &path);
            self.replaced.push(path);
        }
        true
    }

    /// Notes a fault at the path that it is shown with. What is only there because of another fault is not
    /// said: the faults of a stand-in, and of a list without its bad elements.
    fn note(&mut self, error: &Error, at_fault: &[Step], shown: Vec<Step>) {
        let follows = self.replaced.iter().any(|it| at_fault.starts_with(it))
            || self
                .elements
                .iter()
                .any(|it| it.split_last().is_some_and(|(_, list)| list == at_fault));
        if !follows {
            self.faults.push(Fault::new(error, shown));
        }
    }

    /// The list, where a path leads to one of its texts: tables are named with their place, and texts are not.
    fn list_of_texts(&self, path: &[Step]) -> Option<Vec<Step>> {
        let Some((Step::Index(_), list)) = path.split_last() else { return None };
        let elements = place::value(self.document.get_ref(), list)?.as_array()?;
        let is_of_texts = !elements.iter().any(|it| it.get_ref().is_table());
        is_of_texts.then(|| list.to_vec())
    }
}

/// serde says it in words only.
fn missing_key(error: &Error) -> Option<Step> {
    let key = error.message().strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(Step::Key(key.to_owned()))
}

/// An element that is made of a text has no place in serde's error, which names the whole array. The way
/// to the element: the one that gives the same error alone.
fn narrowed(document: &Spanned<DeTable<'_>>, path: &[Step], error: &Error) -> Vec<Step> {
    let array = place::value(document.get_ref(), path).and_then(DeValue::as_array);
    let elements = array.map_or(0, |array| array.len());
    let is_same = |index: &usize| {
        let mut alone = document.clone();
        place::leave_only(alone.get_mut(), path, *index);
        let alone = Config::deserialize(Deserializer::from(alone));
        alone.is_err_and(|it| it.message() == error.message())
    };
    // A long array would be read as often as it has elements.
    let found = (0..elements.min(MAX_FAULTS)).find(is_same);
    found.map_or(path.to_vec(), |index| [path, &[Step::Index(index)]].concat())
}

impl Fault {
    fn new(error: &Error, path: Vec<Step>) -> Self {
        Self { at: error.span(), path, message: words(error.message()) }
    }

    fn in_file(&self, text: &str) -> String {
        let message = &self.message;
        let Some(before) = self.at.as_ref().and_then(|at| text.get(..at.start)) else {
            return message.clone();
        };
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |it| it.chars().count()) + 1;
        let key = place::dotted(&self.path);
        let at = if key.is_empty() { String::new() } else { format!(", at `{key}`") };
        format!("line {line}, column {column}{at}: {message}")
    }

    /// The name of the variable stands for the first `keys` steps.
    fn in_variable(&self, name: &str, keys: usize) -> String {
        let message = &self.message;
        match self.path.get(keys..) {
            None | Some([]) => format!("{name}: {message}"),
            Some(rest) => format!("{name}, at `{}`: {message}", place::dotted(rest)),
        }
    }
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
