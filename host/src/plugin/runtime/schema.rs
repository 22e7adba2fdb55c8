//! The settings of a plugin against the JSON Schema that it gives: checked by the host, so that
//! every plugin's faults read alike and name the place.

use serde_json::Value;

use super::bindings::types::{Diagnostic, Severity};
use super::error::ComponentError;
use super::world::Manifest;

const MAX_FAULTS: usize = 20;

/// Checks settings against the schema of a manifest.
pub fn check(manifest: &Manifest, settings: &Value) -> Result<(), ComponentError> {
    let name = || manifest.name.clone();
    let schema: Value = serde_json::from_str(&manifest.settings_schema)
        .map_err(|error| ComponentError::Schema { name: name(), detail: error.to_string() })?;
    let validator = jsonschema::draft202012::new(&schema)
        .map_err(|error| ComponentError::Schema { name: name(), detail: error.to_string() })?;
    let faults: Vec<Diagnostic> =
        validator.iter_errors(settings).take(MAX_FAULTS).map(|error| fault(&error)).collect();
    if faults.is_empty() { Ok(()) } else { Err(ComponentError::Settings { name: name(), faults }) }
}

fn fault(error: &jsonschema::ValidationError<'_>) -> Diagnostic {
    let path = error.instance_path().to_string();
    let at = if path.is_empty() { "settings".to_owned() } else { format!("settings{path}") };
    Diagnostic {
        severity: Severity::Error,
        code: "schema".to_owned(),
        message: format!("{at}: {}", error.masked()),
        line: 0,
        column: 0,
        snippet: None,
        path: Some(path),
        part: None,
    }
}
