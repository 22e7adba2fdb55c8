//! Two ways to say the same: a line for people, JSON for scripts.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;

use clap::Args;
use serde_json::Value;

use crate::management::acts::Act;

/// How a command answers.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print JSON, for scripts
    #[arg(long)]
    json: bool,
}

impl Output {
    /// Whether a script reads it.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints one thing.
    pub fn one(self, value: &Value, line: impl FnOnce() -> String) {
        note(value);
        if self.json {
            say(value);
        } else {
            say(line());
        }
    }

    /// Prints a list: one line each, or one JSON array.
    pub fn list(self, values: &[Value], line: impl Fn(&Value) -> String) {
        if self.json {
            say(Value::from(values));
            return;
        }
        if values.is_empty() {
            say("none");
        }
        for value in values {
            say(line(value));
        }
    }
}

/// Identifier and account of the one thing that the command made or changed.
static TOLD: OnceLock<(Option<String>, Option<String>)> = OnceLock::new();

fn note(value: &Value) {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    TOLD.get_or_init(|| (text("id"), text("accountId")));
}

/// See [`TOLD`].
pub fn told() -> (Option<String>, Option<String>) {
    TOLD.get().cloned().unwrap_or_default()
}

/// What the command has done, where its arguments do not say it.
static DONE: OnceLock<Act> = OnceLock::new();

/// Notes what the command has done, for the audit log.
pub fn note_act(act: Act) {
    DONE.get_or_init(|| act);
}

/// See [`DONE`].
pub fn noted_act() -> Option<Act> {
    DONE.get().cloned()
}

/// The first error of standard output; nothing is printed after that error.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Prints a line.
pub fn say(line: impl Display) {
    dump(format!("{line}\n").as_bytes());
}

/// Prints bytes as they are. That they cannot be printed ends no command here: what it has changed is still to be written
/// into the audit log. [`fault`] tells it at the end.
pub fn dump(bytes: &[u8]) {
    if is_gone() {
        return;
    }
    let mut stdout = io::stdout().lock();
    if let Err(fault) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        FAULT.get_or_init(|| fault);
    }
}

/// Whether standard output takes nothing any more: a command that prints for ever ends then.
pub fn is_gone() -> bool {
    FAULT.get().is_some()
}

/// Why something that was to be printed has not arrived. A reader that has seen enough, as behind `| head`, is no fault.
pub fn fault() -> Option<&'static io::Error> {
    FAULT.get().filter(|it| it.kind() != io::ErrorKind::BrokenPipe)
}

/// Prints a line to standard error. Where standard error cannot be written, as a log on a full disk, the command or the server
/// goes on without the line.
pub fn tell(line: impl Display) {
    // One write: several could have a line of the server's log between them.
    drop(io::stderr().write_all(format!("{line}\n").as_bytes()));
}

/// What one plugin decided, on one line.
pub fn decided(plugin: &Value) -> String {
    let blank = plugin["blank"].as_array().cloned().unwrap_or_default();
    let blank: Vec<&str> = blank.iter().filter_map(Value::as_str).collect();
    let blank =
        if blank.is_empty() { String::new() } else { format!("  blank: {}", blank.join(", ")) };
    format!(
        "  {}: {} {} (settings {})  {}  {}  {} µs{blank}",
        text(plugin, "slot"),
        text(plugin, "name"),
        text(plugin, "version"),
        text(plugin, "settingsRevision"),
        text(plugin, "verdict"),
        text(plugin, "reason"),
        text(plugin, "micros"),
    )
}

/// A field as plain text.
pub fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            value.to_string()
        }
    }
}
