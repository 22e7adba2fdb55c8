//! A source in its compiled form, and the partials that it may call.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::ast::Block;
use crate::mode::Mode;

/// One compiled source.
#[derive(Debug)]
pub struct Unit {
    /// What diagnostics call it, e.g. `html` or `partial:footer`.
    pub label: String,
    pub source: String,
    pub mode: Mode,
    pub block: Block,
    /// The size of the last output, so that the next buffer need not grow.
    pub last_size: Cell<usize>,
}

/// Partials by name, compiled once for each mode that needs them.
#[derive(Debug, Default)]
pub struct Partials(BTreeMap<String, [Option<Unit>; 3]>);

impl Partials {
    /// A partial, and its name as the template has it.
    pub fn get(&self, name: &str, mode: Mode) -> Option<(&str, &Unit)> {
        let (name, units) = self.0.get_key_value(name)?;
        Some((name, units[mode as usize].as_ref()?))
    }

    /// A partial as compiled for each mode that needs it.
    pub fn in_each_mode(&self, name: &str) -> impl Iterator<Item = &Unit> {
        self.0.get(name).into_iter().flatten().flatten()
    }

    pub fn insert(&mut self, name: &str, unit: Unit) {
        let mode = unit.mode as usize;
        self.0.entry(name.to_owned()).or_default()[mode] = Some(unit);
    }

    /// Every compiled partial.
    pub fn units(&self) -> impl Iterator<Item = &Unit> {
        self.0.values().flatten().flatten()
    }
}
