//! `waxwing plugin check`.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::error::ToolError;
use super::local_validation::{Stopwatch, ToolHost, Tools, kilobytes, milliseconds};
use super::project::{Subject, Which};
use crate::cli::output;
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::{Kind, LoadError, Stage, golden_cases, inspect};

/// Take a component through all that a server asks of it before it is live
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin check                       the component that the project here has built
  waxwing plugin check prices.wasm           with prices.toml, .sig and .cases/ beside it, if any
  waxwing plugin check prices.wasm --kind plan --slot-file waxwing-data/plugins/pro-prices.toml
  waxwing plugin check --config waxwing.toml --json    under the limits of your server

It is parsed, compiled, linked and configured; then its own test, the built-in cases and your golden
cases run, by the server's own code. The exit code is 1 if a server would refuse it; the text says
why and what to do. With --json the answer on standard output says so too: \"ok\": false, \"stage\"
and \"reason\".")]
pub struct Check {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    tools: Tools,
}

pub async fn run(check: Check) -> Result<(), ToolError> {
    let host = check.tools.open()?;
    let subject = check.which.find(&host)?;
    let output = check.tools.output;
    let known = host.validator.is_compiled(&subject.artifact);
    let print = |stage: Stage, took: Duration| {
        if !output.is_json() {
            let kept = if stage == Stage::Compiling && known { "  (kept from before)" } else { "" };
            output::say(format_args!("{:<10}{:>14}{kept}", verb(stage), milliseconds(took)));
        }
    };
    let watch = Stopwatch::new(&print);
    match validate(&host, &subject, &watch).await {
        Ok((validated, golden)) => {
            let mut report = accepted(&host, &subject, &validated)?;
            report["cases"] = json!(golden);
            report["stages"] = stages(&watch.finish());
            report["compiledBefore"] = json!(known);
            output.one(&report, || lines(&report, validated.kind()));
            Ok(())
        }
        Err(error) => {
            let (stage, before) = watch.fail();
            if output.is_json() {
                let report = json!({
                    "ok": false,
                    "component": subject.path.display().to_string(),
                    "digest": subject.artifact.digest(),
                    "bytes": subject.artifact.bytes().len(),
                    "stage": stage,
                    "reason": error.to_string(),
                    "stages": stages(&before),
                });
                output::say(report);
            } else if let Some(stage) = stage {
                output::say(format_args!("{:<10}{:>14}", verb(stage), "refused"));
            }
            Err(error.into())
        }
    }
}

async fn validate(
    host: &ToolHost,
    subject: &Subject,
    watch: &Stopwatch<'_>,
) -> Result<(InstalledPlugin, usize), LoadError> {
    let Subject { candidate, cases, .. } = subject;
    let log = host.validator.log(&candidate.slot);
    let progress = |stage| watch.enter(stage);
    let validated = host.validator.validate(candidate, log, Some(cases), &progress).await?;
    let golden = golden_cases::read(validated.kind(), cases)?.len();
    Ok((validated, golden))
}

fn accepted(
    host: &ToolHost,
    subject: &Subject,
    validated: &InstalledPlugin,
) -> Result<Value, LoadError> {
    let (manifest, bytes) = (validated.manifest(), subject.artifact.bytes());
    let limits = validated.generation_config().limits;
    Ok(json!({
        "ok": true,
        "component": subject.path.display().to_string(),
        "name": manifest.name,
        "version": manifest.version,
        "summary": manifest.summary,
        "kind": validated.kind().as_str(),
        "digest": subject.artifact.digest(),
        "bytes": bytes.len(),
        "imports": inspect::inspect(bytes)?.imports,
        "limits": {
            "callMs": limits.call_ms,
            "prepareMs": limits.prepare_ms,
            "memoryBytes": limits.memory_bytes,
            "outputBytes": limits.output_bytes,
        },
        "warning": host.too_large(bytes.len() as u64),
    }))
}

fn lines(report: &Value, what: Kind) -> String {
    let text = |member: &str| report[member].as_str().unwrap_or_default().to_owned();
    let imports: Vec<&str> =
        report["imports"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let imports =
        if imports.is_empty() { "nothing".to_owned() } else { imports.join("\n          ") };
    let warning =
        report["warning"].as_str().map_or_else(String::new, |it| format!("\nwarning: {it}"));
    format!(
        "\n{} {}, {}, {}\n{}\ndigest    {}\nimports   {imports}\ncases     {} golden ones, \
         and those of the host\nA server takes it.{warning}",
        text("name"),
        text("version"),
        what,
        kilobytes(report["bytes"].as_u64().unwrap_or_default()),
        text("summary"),
        text("digest"),
        report["cases"],
    )
}

fn stages(stages: &[(Stage, Duration)]) -> Value {
    let one = |(stage, took): &(Stage, Duration)| json!({"stage": stage, "microseconds": u64::try_from(took.as_micros()).unwrap_or(u64::MAX)});
    stages.iter().map(one).collect()
}

/// What is done in a stage.
pub fn verb(stage: Stage) -> &'static str {
    match stage {
        Stage::Settling => "settle",
        Stage::Inspecting => "inspect",
        Stage::Compiling => "compile",
        Stage::Linking => "link",
        Stage::Configuring => "configure",
        Stage::Testing => "test",
        Stage::Impact => "impact",
        Stage::Shadow => "shadow",
        Stage::Waiting => "wait",
        Stage::Loading => "load",
    }
}
