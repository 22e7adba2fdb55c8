//! The sender's data, against the variables that the template reads.

use serde_json::{Map, Value};
use waxwing_plugin::renderer::Variable;
use waxwing_plugin::{Diagnostic, Failure, fault_at, invalid_input};

/// Faults that are listed.
const MAX_FAULTS: usize = 100;

/// The data as JSON.
pub fn read(text: &str) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(invalid_input("not_an_object", "the data are no JSON object")),
        Err(error) => Err(invalid_input("not_json", &format!("the data are no JSON: {error}"))),
    }
}

/// The data as the language's own values.
///
/// # Errors
/// A value is none that the language has.
pub fn as_context(data: &Map<String, Value>) -> Result<minijinja::Value, Failure> {
    serde_json::from_value(Value::Object(data.clone()))
        .map_err(|error| invalid_input("not_json", &format!("the data cannot be read: {error}")))
}

/// A fault for each required path that is absent; of an absent list only the list.
pub fn missing(data: &Map<String, Value>, variables: &[Variable]) -> Vec<Diagnostic> {
    let mut paths: Vec<String> = Vec::new();
    for it in variables.iter().filter(|it| it.required) {
        let mut path = it.path.as_str();
        if !has_list(data, path) {
            path = path.split("[]").next().unwrap_or(path);
        }
        for path in absences(data, path) {
            if !paths.contains(&path) && paths.len() < MAX_FAULTS {
                paths.push(path);
            }
        }
    }
    let fault = |path: String| {
        let message = format!("`{path}` is missing");
        fault_at(path, "missing_variable", message)
    };
    paths.into_iter().map(fault).collect()
}

/// Optional paths that are absent.
pub fn absent(data: &Map<String, Value>, variables: &[Variable]) -> Vec<String> {
    let optional = variables.iter().filter(|it| !it.required && !it.path.contains("[]"));
    optional.flat_map(|it| absences(data, &it.path)).collect()
}

/// Whether what comes before the first `[]` is there.
fn has_list(data: &Map<String, Value>, path: &str) -> bool {
    let list = path.split("[]").next().unwrap_or(path);
    absences(data, list).is_empty()
}

/// The places of a path that are absent: several, where it goes through a list.
fn absences(data: &Map<String, Value>, path: &str) -> Vec<String> {
    let (root, rest) = split(path);
    let mut found = Vec::new();
    walk(data.get(root), root, rest, &mut found);
    found
}

fn walk(value: Option<&Value>, path: &str, rest: &str, found: &mut Vec<String>) {
    if matches!(value, None | Some(Value::Null)) {
        let rest = rest.split("[]").next().unwrap_or_default();
        return found.push(format!("{path}{rest}"));
    }
    if let Some(rest) = rest.strip_prefix("[]") {
        let Some(Value::Array(items)) = value else { return };
        for (index, item) in items.iter().enumerate() {
            walk(Some(item), &format!("{path}[{index}]"), rest, found);
        }
    } else if let Some(rest) = rest.strip_prefix('.') {
        let (key, rest) = split(rest);
        walk(value.and_then(|it| it.get(key)), &format!("{path}.{key}"), rest, found);
    }
}

/// A name, and what comes behind it with its dot or its `[]`.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}
