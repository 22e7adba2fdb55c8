//! The paths that a template reads, each once, and how each is read.

use std::collections::{BTreeMap, BTreeSet};

use super::reads::Reads;

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

/// Uses by path, in order of first use.
#[derive(Default)]
pub struct Uses {
    pub all: Vec<Use>,
    by_path: BTreeMap<String, usize>,
    /// The positions of those that are read with all that is in them, somewhere.
    whole: BTreeSet<usize>,
}

impl Uses {
    /// The position of a path in the list, where it is put if it is new.
    pub fn position(&mut self, steps: Vec<Step>) -> usize {
        let all = &mut self.all;
        *self.by_path.entry(path(&steps)).or_insert_with(|| {
            all.push(Use { steps, required: false, looped: false, printed: false });
            all.len() - 1
        })
    }

    pub fn read_whole(&mut self, steps: Vec<Step>) {
        let at = self.position(steps);
        self.whole.insert(at);
    }

    pub fn name_items_of_whole_lists(&mut self) {
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

    pub fn require(&mut self, reads: &Reads) {
        for (at, how) in reads.iter() {
            let it = &mut self.all[at];
            it.required = true;
            it.looped |= how.looped;
            it.printed |= how.printed;
        }
    }
}
