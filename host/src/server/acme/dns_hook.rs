//! The operator's program that publishes the TXT records of `dns-01` (RFC 8555 section 8.4).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::error::AcmeError;

/// Some publishers wait until every name server has the record.
const HOOK_TIME: Duration = Duration::from_mins(3);
/// What is told of a program's complaint.
const TOLD_CHARS: usize = 500;

/// A record of one challenge.
#[derive(Debug)]
pub(super) struct TxtRecord {
    pub name: String,
    pub value: String,
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Present,
    CleanUp,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::CleanUp => "cleanup",
        }
    }
}

/// Runs the program, and waits for its end.
pub(super) async fn run(
    program: &Path,
    action: Action,
    record: &TxtRecord,
) -> Result<(), AcmeError> {
    let failed = |reason: String| AcmeError::Hook {
        path: program.to_owned(),
        action: action.as_str(),
        reason,
    };
    let mut command = Command::new(program);
    command.args([action.as_str(), &record.name, &record.value]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    // The server's settings are none of its business, and some are secrets.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"WAXWING_") {
            command.env_remove(name);
        }
    }
    let output = tokio::time::timeout(HOOK_TIME, command.output()).await;
    let output = output
        .map_err(|_| failed(format!("it did not end within {} s", HOOK_TIME.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(TOLD_CHARS).collect();
    Err(failed(format!("{}: {said}", output.status)))
}
