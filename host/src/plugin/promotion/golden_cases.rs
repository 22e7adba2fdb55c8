//! Golden cases: recorded calls with the expected answers, in a folder next to the plugin.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{CaseFault, LoadError};
use super::installed::InstalledPlugin;
use crate::plugin::records::{Call, differences};
use crate::plugin::runtime::bounded_file;
use crate::plugin::runtime::kind::Kind;

const MAX_DIFFERENCE_LINES: usize = 8;
/// Bytes of an input or an answer, at most.
pub const MAX_INPUT_BYTES: u64 = 1 << 20;
const MAX_CASES: usize = 1_000;

#[derive(Debug)]
pub struct Case {
    /// The name of its folder.
    pub name: String,
    pub directory: PathBuf,
    pub call: Call,
    /// The expected answer; `None` until it was recorded.
    pub expected: Option<Value>,
}

/// Reads `<directory>/<name>/{input,expected}.json`, by name. No directory is no case.
///
/// # Errors
/// A file is not what it must be; the text names it.
pub fn read(kind: Kind, directory: &Path) -> Result<Vec<Case>, LoadError> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("input.json").exists())
        .collect();
    folders.sort();
    if folders.len() > MAX_CASES {
        return Err(unusable_file(directory, CaseFault::TooMany { max: MAX_CASES }));
    }
    folders.into_iter().map(|folder| read_one(kind, folder)).collect()
}

fn read_one(kind: Kind, directory: PathBuf) -> Result<Case, LoadError> {
    let input = directory.join("input.json");
    let json = json_file(&input)?.ok_or_else(|| unusable_file(&input, CaseFault::Missing))?;
    let call = Call::from_json(kind, &json).map_err(|error| unusable_file(&input, error))?;
    let expected = json_file(&directory.join("expected.json"))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Case { name, directory, call, expected })
}

/// Checks that a plugin gives the expected answer.
///
/// # Errors
/// It gives another answer, or none.
pub async fn check(validated: &InstalledPlugin, case: &Case) -> Result<(), LoadError> {
    let (answer, _) = validated.dry_run(&case.call).await;
    match &case.expected {
        Some(expected) => match answer_differences(expected, &answer) {
            lines if lines.is_empty() => Ok(()),
            lines => Err(case_failed(validated, &case.name, lines.join("; "))),
        },
        None => Err(case_failed(
            validated,
            &case.name,
            format!(
                "it has no expected.json; the answer is {answer}; `waxwing plugin test --update` \
                 writes it"
            ),
        )),
    }
}

/// Where an answer is not what is expected, one place a line; empty where it is the same. A member
/// that is null and one that is left out are the same.
#[must_use]
pub fn answer_differences(expected: &Value, answer: &Value) -> Vec<String> {
    let (expected, answer) = (without_nulls(expected), without_nulls(answer));
    if expected == answer {
        Vec::new()
    } else {
        differences(&expected, &answer, MAX_DIFFERENCE_LINES)
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_nulls(member)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn case_failed(validated: &InstalledPlugin, case: &str, detail: String) -> LoadError {
    let name = validated.identity().name.clone();
    LoadError::Case { name, case: format!("the case `{case}`"), detail }
}

fn json_file(path: &Path) -> Result<Option<Value>, LoadError> {
    let bytes =
        bounded_file::read(path, MAX_INPUT_BYTES).map_err(|error| unusable_file(path, error))?;
    let Some(bytes) = bytes else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable_file(path, error))
}

fn unusable_file(path: &Path, fault: impl Into<CaseFault>) -> LoadError {
    LoadError::CaseFile { path: path.to_owned(), fault: fault.into() }
}
