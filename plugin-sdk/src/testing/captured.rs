//! Logs and counts of a plugin, kept for tests: one list a thread, as tests have one each.

use std::cell::RefCell;

use crate::Pair;
use crate::host::Level;

/// Natively a plugin runs in tests only; even so nothing grows without bound.
const MAX_LINES: usize = 1024;

thread_local! {
    static LOGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static COUNTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The lines that were logged on this thread since the last call: `info: priced plan=free`. At most
/// the first 1,024.
#[must_use]
pub fn logs() -> Vec<String> {
    LOGS.take()
}

/// What was counted on this thread since the last call: `denied +1 plan=free`. At most the first
/// 1,024.
#[must_use]
pub fn counts() -> Vec<String> {
    COUNTS.take()
}

pub(crate) fn log(level: Level, message: &str, fields: Vec<Pair>) {
    let level = match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    LOGS.with_borrow_mut(|it| keep(it, format!("{level}: {message}"), fields));
}

pub(crate) fn count(metric: &str, delta: u64, labels: Vec<Pair>) {
    COUNTS.with_borrow_mut(|it| keep(it, format!("{metric} +{delta}"), labels));
}

fn keep(lines: &mut Vec<String>, mut line: String, fields: Vec<Pair>) {
    for Pair { key, value } in fields {
        line.extend([" ", &key, "=", &value]);
    }
    if lines.len() < MAX_LINES {
        lines.push(line);
    }
}
