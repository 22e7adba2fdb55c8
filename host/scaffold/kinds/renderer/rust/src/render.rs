//! One render: data in, the parts of a message out.

use std::collections::BTreeMap;

use serde_json::Value;
use waxwing_plugin::renderer::{Body, Output, Part};
use waxwing_plugin::{Failure, fault_at, invalid_input};

use crate::parse::Piece;
use crate::{Compiled, Missing, Unit, html};

/// The values of a render, as text.
struct Values<'a> {
    data: BTreeMap<&'a str, String>,
    /// What a layout may show beside the data.
    subject: String,
    preheader: String,
}

/// Renders every part.
///
/// # Errors
/// Every name that is missing or has no text, each once.
pub fn render(compiled: &Compiled, data: &str) -> Result<Output, Failure> {
    let root: Value = serde_json::from_str(data)
        .map_err(|error| invalid_input("not_json", &format!("the data is not JSON: {error}")))?;
    let mut values = Values {
        data: BTreeMap::new(),
        subject: String::new(),
        preheader: String::new(),
    };
    let (mut faults, mut missing) = (Vec::new(), Vec::new());
    for path in compiled.paths() {
        let value = path
            .split('.')
            .try_fold(&root, |it, key| it.get(key))
            .unwrap_or(&Value::Null);
        match value {
            Value::Null => {
                missing.push(path.to_owned());
                if compiled.missing == Missing::Refuse {
                    let message = format!("`{path}` is not in the data");
                    faults.push(fault_at(path, "missing_variable", message));
                }
            }
            Value::Array(_) | Value::Object(_) => {
                let message = format!("`{path}` is not a text or a number");
                faults.push(fault_at(path, "wrong_type", message));
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {}
        }
        values.data.insert(path, printed(value));
    }
    if !faults.is_empty() {
        return Err(Failure::InvalidInput(faults));
    }
    // The subject and the preheader first: a layout may show them.
    for unit in &compiled.units {
        match unit.part {
            Part::Subject => values.subject = one_line(&fill(unit, &values)),
            Part::Preheader => values.preheader = one_line(&fill(unit, &values)),
            Part::Html | Part::Text => {}
        }
    }
    let body = |unit: &Unit| Body {
        part: unit.part,
        text: body(unit, &values),
    };
    Ok(Output {
        bodies: compiled.units.iter().map(body).collect(),
        missing,
    })
}

fn body(unit: &Unit, values: &Values<'_>) -> String {
    match unit.part {
        Part::Subject => values.subject.clone(),
        Part::Preheader => values.preheader.clone(),
        Part::Text if unit.derived => html::lines(&fill(unit, values)),
        Part::Html | Part::Text => fill(unit, values),
    }
}

fn fill(unit: &Unit, values: &Values<'_>) -> String {
    let shown = |text: &str| {
        if unit.part == Part::Html {
            html::escape(text)
        } else {
            text.to_owned()
        }
    };
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Path(path) => shown(values.data.get(path.as_str()).map_or("", String::as_str)),
        Piece::Given(name) if name == "subject" => shown(&values.subject),
        Piece::Given(_) => shown(&values.preheader),
    };
    unit.pieces.iter().map(piece).collect()
}

fn printed(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
