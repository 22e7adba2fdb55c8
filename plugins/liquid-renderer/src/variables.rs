//! Which paths a template reads from its data, and which of them it cannot do without.
//!
//! Required: printed, filtered or looped over unconditionally, without `default`. What stands in a
//! branch, in a condition, or in a loop with an `else` is optional. Names that the template binds
//! are not data; a loop's variable stands for the items of its collection.

use std::collections::BTreeMap;

use waxwing_plugin::{Diagnostic, fault};

mod walk;

use crate::compile::{Compiled, LAYOUT_NAMES};
use crate::machine::MAX_DEPTH;
use walk::Walker;

/// A step into data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
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
pub fn of(it: &Compiled) -> Result<Vec<Use>, Vec<Diagnostic>> {
    let mut walker = Walker::new(&it.partials);
    for (_, unit) in &it.parts {
        walker.unit(unit, &[]);
    }
    if let Some(layout) = &it.layout {
        walker.unit(layout, &LAYOUT_NAMES);
    }
    if let Some((unit, layout)) = &it.derived {
        walker.unit(unit, &[]);
        if let Some(layout) = layout {
            walker.unit(layout, &LAYOUT_NAMES);
        }
    }
    if walker.is_exhausted() {
        let message = "the partials call each other too often to be looked through".to_owned();
        return Err(vec![fault("too_complex", message)]);
    }
    if walker.deepest > MAX_DEPTH {
        let message = format!("tags and partials are nested more than {MAX_DEPTH} deep");
        return Err(vec![fault("nesting_too_deep", message)]);
    }
    Ok(walker.uses.all)
}

/// Uses by path, in order of first use.
#[derive(Default)]
struct Uses {
    all: Vec<Use>,
    by_path: BTreeMap<String, usize>,
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
    fn note(&mut self, steps: Vec<Step>, reading: Reading) {
        let all = &mut self.all;
        let at = *self.by_path.entry(path(&steps)).or_insert_with(|| {
            all.push(Use { steps, required: false, looped: false, printed: false });
            all.len() - 1
        });
        let it = &mut all[at];
        it.required |= reading != Reading::Optional;
        it.looped |= reading == Reading::Looped;
        it.printed |= reading == Reading::Printed;
    }
}
