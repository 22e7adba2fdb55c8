//! The operator's program that publishes the TXT records of `dns-01` (RFC 8555 section 8.4). What counts is its own end:
//! what it leaves running is ended with it, as everything is where the server does not wait any longer.

use std::convert::Infallible;
use std::future;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, Command};

use super::error::AcmeError;

/// Some publishers wait until every name server has the record.
const HOOK_TIME: Duration = Duration::from_mins(3);
/// To read what a program that has ended has said: a process that has left its group may hold the pipe for ever.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);
/// Octets of a program's complaint that are kept.
const MAX_SAID_BYTES: usize = 2 << 10;
/// What is told of it.
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
    // The server's settings are none of its business, and some are secrets.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"WAXWING_") {
            command.env_remove(name);
        }
    }
    let (status, said) = tokio::time::timeout(HOOK_TIME, ended(command))
        .await
        .map_err(|_| failed(format!("it did not end within {} s", HOOK_TIME.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    let said: String = said.trim().chars().take(TOLD_CHARS).collect();
    Err(failed(format!("{status}: {said}")))
}

/// How it ends, and what it has said until then.
async fn ended(mut command: Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    #[cfg(unix)]
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let group = Group(child.id());
    let mut stderr = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut said = Vec::new();
    let status = tokio::select! {
        status = child.wait() => status?,
        never = read_on(&mut stderr, &mut said) => match never {},
    };
    drop(group);
    drop(tokio::time::timeout(LAST_WORDS_TIME, read(&mut stderr, &mut said)).await);
    Ok((status, said))
}

/// Reads to the end, so that nobody waits to be read, and keeps the beginning.
async fn read(stderr: &mut ChildStderr, said: &mut Vec<u8>) {
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut piece).await {
        let room = MAX_SAID_BYTES.saturating_sub(said.len());
        said.extend(piece.iter().take(length.min(room)));
    }
}

async fn read_on(stderr: &mut ChildStderr, said: &mut Vec<u8>) -> Infallible {
    read(stderr, said).await;
    future::pending().await
}

/// The processes of a program, which end with this value.
struct Group(Option<u32>);

impl Drop for Group {
    #[cfg(unix)]
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let leader = self.0.and_then(|it| i32::try_from(it).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // It fails where nobody is left.
            let _nobody_left = kill_process_group(leader, Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn drop(&mut self) {
        let Self(_leader) = self;
    }
}

#[cfg(test)]
mod tests;
