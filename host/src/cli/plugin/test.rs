//! `waxwing plugin test`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::error::ToolError;
use super::local_validation::{ToolHost, Tools};
use super::project::{Subject, Which};
use crate::cli::output;
use crate::plugin::golden_cases::{self, Case};
use crate::plugin::installed::InstalledPlugin;

/// Run the golden cases of a plugin project on the component that it has built
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin test                 all cases of the project here
  waxwing plugin test --update        write the expected.json of new cases and of those that differ
  waxwing plugin test --log           show what the plugin logs

A case is a folder: cases/<name>/input.json, what the plugin is asked, and expected.json, what it
must answer. Members of an input may be left out. An input may have \"settings\" of its own; the
plugin is then configured with those. Look at what --update wrote before you keep it.")]
pub struct Test {
    /// The project's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Write what the plugin answers now into expected.json
    #[arg(long)]
    update: bool,
    /// Show what the plugin logs, on standard error
    #[arg(long)]
    log: bool,
    #[command(flatten)]
    tools: Tools,
}

/// What becomes of answers that a case does not expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherAnswers {
    Reported,
    /// They are what the case expects from now on.
    Written,
}

/// What became of a case.
#[derive(Debug)]
enum Outcome {
    Held,
    Updated,
    New,
    Differs(Vec<String>),
    NoAnswer(String),
}

pub async fn run(test: Test) -> Result<(), ToolError> {
    let host = if test.log {
        let with_calls = "warn,waxwing::plugin::runtime::sandbox=debug".parse();
        test.tools.open_logging(with_calls.expect("it is a filter"))?
    } else {
        test.tools.open()?
    };
    let subject = Which::at(test.dir).find(&host)?;
    let log = host.validator.log(&subject.candidate.slot);
    let validated = host
        .validator
        .validate(&subject.candidate, log, None, crate::plugin::validation::UNOBSERVED)
        .await?;
    let golden = golden_cases::read(validated.kind(), &subject.cases)?;
    if golden.is_empty() {
        return Err(ToolError::NoCases { cases: subject.cases });
    }
    let other = if test.update { OtherAnswers::Written } else { OtherAnswers::Reported };
    let mut report = Vec::new();
    for case in &golden {
        let outcome = outcome(&host, &subject, &validated, case, other).await?;
        if !test.tools.output.is_json() {
            output::say(line(&case.name, &outcome));
        }
        report.push((case.name.as_str(), outcome));
    }
    let failed = report.iter().filter(|(_, outcome)| !outcome.is_good()).count();
    let all = report.len();
    let value = json!({
        "ok": failed == 0,
        "plugin": validated.identity().name,
        "digest": subject.artifact.digest(),
        "failed": failed,
        "cases": report.iter().map(|(name, outcome)| outcome.to_json(name)).collect::<Vec<_>>(),
    });
    if failed == 0 || test.tools.output.is_json() {
        test.tools.output.one(&value, || format!("all hold: {all}"));
    }
    if failed == 0 { Ok(()) } else { Err(ToolError::Cases { failed, all }) }
}

async fn outcome(
    host: &ToolHost,
    subject: &Subject,
    validated: &InstalledPlugin,
    case: &Case,
    other: OtherAnswers,
) -> Result<Outcome, ToolError> {
    let answered = match case.call.settings.clone() {
        None => validated.dry_run(&case.call).await,
        Some(settings) => match host.validator.validate_with(&subject.candidate, settings).await {
            Ok(own) => own.dry_run(&case.call).await,
            Err(error) => return Ok(Outcome::NoAnswer(error.to_string())),
        },
    };
    let answer = match answered {
        (answer, None) => answer,
        (_, Some(failure)) => return Ok(Outcome::NoAnswer(failure.to_string())),
    };
    let lines =
        case.expected.as_ref().map(|expected| golden_cases::answer_differences(expected, &answer));
    match lines {
        Some(lines) if lines.is_empty() => return Ok(Outcome::Held),
        Some(_) | None if other == OtherAnswers::Written => {}
        Some(lines) => return Ok(Outcome::Differs(lines)),
        None => return Ok(Outcome::New),
    }
    write(&case.directory.join("expected.json"), &answer)?;
    Ok(Outcome::Updated)
}

/// Beside the file and then renamed: a case is never half written.
pub fn write(path: &Path, answer: &Value) -> Result<(), ToolError> {
    let partial = path.with_extension("json.partial");
    std::fs::write(&partial, format!("{answer:#}\n")).map_err(ToolError::write(&partial))?;
    std::fs::rename(&partial, path).map_err(ToolError::write(path))
}

impl Outcome {
    fn is_good(&self) -> bool {
        match self {
            Self::Held | Self::Updated => true,
            Self::New | Self::Differs(_) | Self::NoAnswer(_) => false,
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Updated => "updated",
            Self::New => "new",
            Self::Differs(_) => "differs",
            Self::NoAnswer(_) => "no answer",
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::Held | Self::Updated => Vec::new(),
            Self::New => vec![
                "it has no expected.json: look at the answer with --update, and keep it if it is right"
                    .to_owned(),
            ],
            Self::Differs(lines) => lines.clone(),
            Self::NoAnswer(reason) => vec![reason.clone()],
        }
    }

    fn to_json(&self, name: &str) -> Value {
        json!({
            "case": name,
            "ok": self.is_good(),
            "outcome": self.as_str(),
            "details": self.details(),
        })
    }
}

fn line(name: &str, outcome: &Outcome) -> String {
    let head = format!("{:<10}{name}", outcome.as_str());
    outcome.details().iter().fold(head, |text, detail| format!("{text}\n          {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_differs_shows_each_place_on_its_line() {
        let outcome = Outcome::Differs(vec!["a: 1 -> 2".to_owned(), "b: 1 -> 3".to_owned()]);
        assert_eq!(line("x", &outcome), "differs   x\n          a: 1 -> 2\n          b: 1 -> 3");
        assert!(!outcome.is_good() && Outcome::Updated.is_good());
    }

    #[test]
    fn what_is_written_is_readable_json_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("expected.json");
        write(&path, &json!({"decisions": []})).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"decisions\": []\n}\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
