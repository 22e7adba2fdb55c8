//! `waxwing plugin inspect`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::error::ToolError;
use super::local_validation::{Tools, kilobytes};
use super::project::Which;
use crate::plugin::inspect::{Inspection, inspect};
use crate::plugin::{LoadError, Manifest};

/// Show what a component is: kind, interface version, manifest, imports, exports, sections, digest
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin inspect prices.wasm
  waxwing plugin inspect --json | jq .settingsSchema     what may stand in its [settings]

Nothing but its `describe` runs, and no settings are needed.")]
pub struct Inspect {
    /// A component, or the folder of a plugin project
    #[arg(default_value = ".")]
    component: PathBuf,
    #[command(flatten)]
    tools: Tools,
}

pub async fn run(inspected: Inspect) -> Result<(), ToolError> {
    let host = inspected.tools.open()?;
    let subject = Which::at(inspected.component).find(&host)?;
    let found = inspect(subject.artifact.bytes()).map_err(LoadError::from)?;
    // What it is can be shown even if it cannot say so itself.
    let manifest = host.validator.describe(&subject.candidate).await;
    let value = json!({
        "component": subject.path.display().to_string(),
        "kind": found.kind,
        "interface": interface(&found),
        "name": manifest.as_ref().ok().map(|it| &it.name),
        "version": manifest.as_ref().ok().map(|it| &it.version),
        "summary": manifest.as_ref().ok().map(|it| &it.summary),
        "settingsSchema": manifest.as_ref().ok().map(schema),
        "fault": manifest.as_ref().err().map(ToString::to_string),
        "digest": subject.artifact.digest(),
        "bytes": subject.artifact.bytes().len(),
        "holdsAnInterpreter": subject.artifact.embeds_an_interpreter(),
        "imports": found.imports,
        "exports": found.exports,
        "sections": found.sections.iter()
            .map(|(name, bytes)| json!({"name": name, "bytes": bytes}))
            .collect::<Vec<_>>(),
    });
    let bytes = subject.artifact.bytes().len() as u64;
    inspected
        .tools
        .output
        .one(&value, || lines(&found, &manifest, subject.artifact.digest(), bytes));
    manifest.map(|_| ()).map_err(ToolError::from)
}

/// The interface that makes it the kind that it is, with its version.
fn interface(found: &Inspection) -> Option<&str> {
    let name = found.kind.interface();
    let is_it = |export: &&String| export.split('@').next() == Some(name);
    found.exports.iter().find(is_it).map(String::as_str)
}

fn schema(manifest: &Manifest) -> Value {
    let text = &manifest.settings_schema;
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
}

fn lines(
    found: &Inspection,
    manifest: &Result<Manifest, LoadError>,
    digest: &str,
    bytes: u64,
) -> String {
    let list = |items: &[String]| match items {
        [] => "nothing".to_owned(),
        items => items.join("\n           "),
    };
    let said = match manifest {
        Ok(manifest) => {
            let Manifest { name, version, summary, .. } = manifest;
            let settings = settings(&schema(manifest));
            format!("{name} {version}\n{summary}\nsettings   {}", list(&settings))
        }
        Err(_) => "it cannot be described".to_owned(),
    };
    let sections: Vec<String> =
        found.sections.iter().map(|(name, bytes)| format!("{name}: {bytes} bytes")).collect();
    format!(
        "{said}\nkind       {}\ninterface  {}\nsize       {}\ndigest     {digest}\nimports    {}\n\
         exports    {}\nsections   {}",
        found.kind,
        interface(found).unwrap_or_default(),
        kilobytes(bytes),
        list(&found.imports),
        list(&found.exports),
        list(&sections),
    )
}

/// The names of the settings, each with its type or its values where the schema says them plainly.
fn settings(schema: &Value) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let one = |(name, property): (&String, &Value)| match &property["type"] {
        Value::String(word) => format!("{name} ({word})"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            name.clone()
        }
    };
    properties.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_listed_with_their_types() {
        let schema = json!({"properties": {"price": {"type": "integer"}, "rule": {"$ref": "#/x"}}});
        assert_eq!(settings(&schema), ["price (integer)", "rule"]);
        assert!(settings(&json!(true)).is_empty());
    }
}
