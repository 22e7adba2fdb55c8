//! `waxwing doctor`: is the server well? Asks the one that runs; where none does, makes the checks that need none.

use clap::Args;
use serde_json::Value;

use super::error::CliError;
use super::installation;
use super::open::Target;
use super::output::text;
use super::plugin::{OnlineError, OnlineServer};
use crate::api::shapes::HealthReport;
use crate::server;

/// How findings are ordered, and what begins their lines.
const STATES: [(&str, &str); 4] =
    [("failing", "FAIL"), ("warning", "WARN"), ("ok", "ok  "), ("not_checked", "-   ")];

/// Look whether a server is well: what is wrong, why it matters, what to do
#[derive(Debug, Args)]
#[command(after_help = "Makes all checks now. The exit code is 1 where one of them fails.

Examples:
  waxwing doctor --config /etc/waxwing/waxwing.toml
  waxwing doctor --json")]
pub struct Doctor {
    #[command(flatten)]
    server: OnlineServer,
}

/// Prints every finding, those that need somebody first.
pub async fn run(doctor: &Doctor) -> Result<(), CliError> {
    let server = &doctor.server;
    let report = match asked(server).await {
        Ok(report) => report,
        Err(OnlineError::NoServer { .. } | OnlineError::Unreachable { .. }) if is_here(server) => {
            alone(server).await?
        }
        Err(error) => return Err(error.into()),
    };
    server.output.one(&report, || lines(&report));
    let failing: Vec<String> = in_state(&report, "failing").map(|it| text(it, "check")).collect();
    if failing.is_empty() { Ok(()) } else { Err(CliError::Unwell(failing)) }
}

async fn asked(server: &OnlineServer) -> Result<Value, OnlineError> {
    server.connect()?.look("/v1/health/check").await
}

/// Whether the server would be this machine's: only then its configuration is known.
fn is_here(server: &OnlineServer) -> bool {
    let chosen = installation::choose(server.config.as_deref(), server.data_dir.as_deref());
    let has_file = chosen.is_ok_and(|it| it.file.is_some());
    !server.is_by_address() && (has_file || server.data_dir.is_some())
}

/// What is found without a server.
async fn alone(server: &OnlineServer) -> Result<Value, CliError> {
    let config = Target::from(server).config()?;
    let report = server::health::offline(&config)?.check_now().await;
    Ok(serde_json::to_value(HealthReport::from(&*report)).unwrap_or_default())
}

fn in_state<'a>(report: &'a Value, state: &'a str) -> impl Iterator<Item = &'a Value> {
    let findings = report["findings"].as_array().into_iter().flatten();
    findings.filter(move |it| it["state"] == state)
}

fn lines(report: &Value) -> String {
    let mut lines = Vec::new();
    let mut counts = Vec::new();
    for (state, mark) in STATES {
        let found: Vec<&Value> = in_state(report, state).collect();
        counts.push(format!("{} {}", found.len(), state.replace('_', " ")));
        for finding in found {
            lines.push(format!("{mark}  {}: {}", text(finding, "title"), text(finding, "what")));
            if let Some(todo) = finding["todo"].as_str() {
                lines.push(format!("      Why: {}", text(finding, "why")));
                lines.push(format!("      What to do: {todo}"));
            }
        }
    }
    lines.push(counts.join(", "));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fails_stands_first_with_why_and_what_to_do() {
        let finding = |check: &str, state: &str, todo: Option<&str>| {
            let (what, why) = ("Seen.", "Because.");
            json!({"check": check, "title": check, "state": state, "what": what, "why": why, "todo": todo})
        };
        let report = json!({"status": "failing", "findings": [
            finding("Disk", "ok", None),
            finding("Clock", "not_checked", None),
            finding("SPF", "failing", Some("Publish it.")),
        ]});
        let said = lines(&report);
        let expected = "FAIL  SPF: Seen.\n      Why: Because.\n      What to do: Publish it.\n\
                        ok    Disk: Seen.\n-     Clock: Seen.\n\
                        1 failing, 0 warning, 1 ok, 1 not checked";
        assert_eq!(said, expected);
        assert_eq!(in_state(&report, "failing").count(), 1);
    }
}
