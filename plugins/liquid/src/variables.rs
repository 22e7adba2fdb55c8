//! Which paths a template reads from its data, and which of them it cannot do without.
//!
//! Required: printed, filtered or looped over whatever the data is, without `default`. What every
//! branch of an `if … else` or a `case … else` reads is read whatever the data is; what only some of
//! them read is optional, and so is what stands in a condition or behind a `break`. A loop without an
//! `else` counts as run. Names that the template binds are not data: a loop's variable stands for the
//! items of its collection, and what `assign` or `capture` computed is needed where its name is read.
//!
//! Where members of the items of a list are read one by one, and the list is also read as it is, as by a filter, the
//! items are named too: `items[]`. Otherwise what is not named of them is not read.

use std::collections::{BTreeMap, BTreeSet};

mod message;
mod reads;
mod walk;

use crate::bounds::MAX_DEPTH;
use crate::messages::Messages;
use crate::template::Diagnostic;
use crate::unit::{Partials, Unit};
use reads::Reads;
use walk::Walker;

/// A step into data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    /// `["first"]`, `["last"]` or `["size"]`: of an object only.
    Item(String),
    Index(i64),
    /// Every item of a list.
    Each,
}

/// A path and how it is read.
#[derive(Debug)]
pub struct Use {
    pub steps: Vec<Step>,
    pub required: bool,
    /// A loop goes over it, unconditionally.
    pub looped: bool,
    /// It is printed as it is, unconditionally.
    pub printed: bool,
}

impl Use {
    /// As people write it: `user.name`, `items[].price`.
    pub fn path(&self) -> String {
        path(&self.steps)
    }
}

/// Adds a step as people write it.
pub fn append(path: &mut String, step: &Step) {
    match step {
        Step::Key(key) if path.is_empty() => path.push_str(key),
        Step::Key(key) => put!(path, ".{key}"),
        Step::Item(key) => put!(path, "[{key:?}]"),
        Step::Index(index) => put!(path, "[{index}]"),
        Step::Each => path.push_str("[]"),
    }
}

fn path(steps: &[Step]) -> String {
    let mut out = String::new();
    for it in steps {
        append(&mut out, it);
    }
    out
}

/// Every path that a template reads, in order of first use.
///
/// # Errors
/// The template calls partials so often that it cannot be looked through, or too deep.
pub fn of<'u>(
    units: impl Iterator<Item = (&'u Unit, &'static [&'static str])>,
    partials: &'u Partials,
    messages: &'u Messages,
) -> Result<Vec<Use>, Vec<Diagnostic>> {
    let mut walker = Walker::new(partials, messages);
    for (unit, given) in units {
        walker.unit(unit, given);
    }
    if walker.is_exhausted() {
        let message = "the partials call each other too often to be looked through".to_owned();
        return Err(vec![Diagnostic::new("too_complex", message)]);
    }
    if walker.deepest > MAX_DEPTH {
        let message = format!("tags and partials are nested more than {MAX_DEPTH} deep");
        return Err(vec![Diagnostic::new("nesting_too_deep", message)]);
    }
    walker.uses.name_items_of_whole_lists();
    Ok(walker.uses.all)
}

/// Uses by path, in order of first use.
#[derive(Default)]
struct Uses {
    all: Vec<Use>,
    by_path: BTreeMap<String, usize>,
    /// The positions of those that are read with all that is in them, somewhere.
    whole: BTreeSet<usize>,
}

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Its absence is fine.
    Optional,
    Required,
    Looped,
    Printed,
}

impl Uses {
    /// The position of a path in the list, where it is put if it is new.
    fn position(&mut self, steps: Vec<Step>) -> usize {
        let all = &mut self.all;
        *self.by_path.entry(path(&steps)).or_insert_with(|| {
            all.push(Use { steps, required: false, looped: false, printed: false });
            all.len() - 1
        })
    }

    fn read_whole(&mut self, steps: Vec<Step>) {
        let at = self.position(steps);
        self.whole.insert(at);
    }

    fn name_items_of_whole_lists(&mut self) {
        let lists_before = |steps: &[Step]| -> Vec<String> {
            let ends = steps.iter().enumerate().filter(|(_, step)| **step == Step::Each);
            ends.map(|(at, _)| path(&steps[..at])).collect()
        };
        let lists: BTreeSet<String> =
            self.all.iter().flat_map(|it| lists_before(&it.steps)).collect();
        let whole = self.whole.iter().map(|at| &self.all[*at]);
        let whole = whole.filter(|it| lists.contains(&it.path()));
        let items: Vec<Vec<Step>> =
            whole.map(|it| it.steps.iter().cloned().chain([Step::Each]).collect()).collect();
        for steps in items {
            self.read_whole(steps);
        }
    }

    fn require(&mut self, reads: &Reads) {
        for (at, how) in reads.iter() {
            let it = &mut self.all[at];
            it.required = true;
            it.looped |= how.looped;
            it.printed |= how.printed;
        }
    }
}
