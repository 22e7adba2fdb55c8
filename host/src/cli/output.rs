//! Two ways to say the same: a line for people, JSON for scripts.

use clap::Args;
use serde_json::Value;

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
        if self.json {
            println!("{value}");
        } else {
            println!("{}", line());
        }
    }

    /// Prints a list: one line each, or one JSON array.
    pub fn list(self, values: &[Value], line: impl Fn(&Value) -> String) {
        if self.json {
            println!("{}", Value::from(values));
            return;
        }
        if values.is_empty() {
            println!("none");
        }
        for value in values {
            println!("{}", line(value));
        }
    }
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
