//! Golden cases: recorded calls with the expected answers. The operator's cases are in a folder next to the plugin;
//! the built-in cases run against every plugin of a kind.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::LoadError;
use super::installed::InstalledPlugin;
use crate::plugin::records::{Call, differences};
use crate::plugin::runtime::bounded_file;
use crate::plugin::runtime::kind::Kind;

const MAX_DIFFERENCE_LINES: usize = 8;
/// Bytes of an input or an answer.
pub const MAX_INPUT_BYTES: u64 = 1 << 20;
/// Cases of one plugin.
const MAX_CASES: usize = 1_000;

/// One golden case.
#[derive(Debug)]
pub struct Case {
    /// The name of its folder.
    pub name: String,
    pub directory: PathBuf,
    /// What goes in.
    pub call: Call,
    /// What must come out; none where nobody has said yet.
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
        return Err(unusable_file(directory, &format!("it has more than {MAX_CASES} cases")));
    }
    folders.into_iter().map(|folder| read_one(kind, folder)).collect()
}

fn read_one(kind: Kind, directory: PathBuf) -> Result<Case, LoadError> {
    let input = directory.join("input.json");
    let json = json_file(&input)?.ok_or_else(|| unusable_file(&input, "it is not there"))?;
    let call =
        Call::from_json(kind, &json).map_err(|error| unusable_file(&input, &error.to_string()))?;
    let expected = json_file(&directory.join("expected.json"))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Case { name, directory, call, expected })
}

/// Checks that a plugin answers a case as it must.
///
/// # Errors
/// It answers otherwise, or not at all.
pub async fn hold(validated: &InstalledPlugin, case: &Case) -> Result<(), LoadError> {
    let (answer, _) = validated.answer(&case.call).await;
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

/// The inputs that the host gives to every plugin of a kind: calls at the edges.
#[must_use]
pub fn builtin_inputs(kind: Kind) -> Vec<(&'static str, Value)> {
    match kind {
        Kind::Plan => vec![
            (
                "the built-in case `no use`",
                json!({"account": {"id": "acc_test", "plan": "free"}, "uses": []}),
            ),
            (
                "the built-in case `three uses`",
                json!({
                    "account": {"id": "acc_test", "plan": "no such plan", "creditsRemaining": -1},
                    "uses": [
                        {"templateSlug": "welcome", "recipientDomain": "example.com", "recipients": 1},
                        {"channel": "smtp", "recipientDomain": "xn--bcher-kva.example", "recipients": 100},
                        {"templateSlug": "ünï\u{0}code", "recipients": u32::MAX, "sizeBytes": u64::MAX},
                    ],
                }),
            ),
        ],
        Kind::Renderer => vec![(
            "the built-in case `plain text`",
            json!({"template": {"slug": "host-case", "subject": "Hello", "text": "Hello"}, "data": {}}),
        )],
        Kind::Domain => {
            let domain = json!({
                "name": "example.com", "organizationalDomain": "example.com",
                "verificationToken": "token", "spfInclude": "spf.example.net",
                "returnPathHost": "bounce.example.com", "plan": "free",
            });
            vec![
                ("the built-in case `requirements`", json!({"domain": domain})),
                ("the built-in case `nothing seen`", json!({"domain": domain, "seen": []})),
            ]
        }
    }
}

/// [`builtin_inputs`] as calls with their names.
///
/// # Panics
/// Never: each of them is the input of a call.
pub fn builtin_calls(kind: Kind) -> impl Iterator<Item = (String, Call)> {
    builtin_inputs(kind).into_iter().map(move |(name, input)| {
        let call = Call::from_json(kind, &input).expect("each is the input of a call");
        (name.to_owned(), call)
    })
}

/// What no plugin of a kind may fail: calls at the edges, and the shape of the answers.
///
/// # Errors
/// It fails one.
pub async fn check_builtin_cases(validated: &InstalledPlugin) -> Result<(), LoadError> {
    for (name, call) in builtin_calls(validated.kind()) {
        let (answer, failure) = validated.answer(&call).await;
        if let Some(failure) = failure {
            return Err(LoadError::of_case(&validated.identity().name, &name, &failure));
        }
        if let Some(fault) = answer_fault(validated.kind(), &answer) {
            return Err(case_failed(validated, &name, fault));
        }
    }
    Ok(())
}

/// What is wrong with the shape of an answer to one of the built-in cases.
fn answer_fault(kind: Kind, answer: &Value) -> Option<String> {
    if let Some(failure) = answer.get("failure") {
        let is_plain_text = kind == Kind::Renderer;
        let text = format!("it must give an answer, and gave up: {failure}");
        return (is_plain_text || failure.get("internal").is_some()).then_some(text);
    }
    match kind {
        Kind::Renderer if answer.get("text").is_none_or(Value::is_null) => {
            Some("the template has a text part, and the answer has none".to_owned())
        }
        Kind::Domain => {
            let requirements = answer.get("requirements")?.as_array()?;
            let ids: Vec<&Value> = requirements.iter().map(|it| &it["id"]).collect();
            let twice = ids.iter().enumerate().find(|(n, id)| ids[..*n].contains(id));
            twice.map(|(_, id)| format!("the requirement {id} is there twice"))
        }
        Kind::Renderer | Kind::Plan => None,
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
    let case = if case.starts_with("the built-in") {
        case.to_owned()
    } else {
        format!("the case `{case}`")
    };
    LoadError::Case { name: validated.identity().name.clone(), case, detail }
}

fn json_file(path: &Path) -> Result<Option<Value>, LoadError> {
    let bytes = bounded_file::read(path, MAX_INPUT_BYTES)
        .map_err(|error| unusable_file(path, &error.to_string()))?;
    let Some(bytes) = bytes else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| unusable_file(path, &error.to_string()))
}

fn unusable_file(path: &Path, detail: &str) -> LoadError {
    LoadError::File(format!("{} cannot be used: {detail}", path.display()))
}
