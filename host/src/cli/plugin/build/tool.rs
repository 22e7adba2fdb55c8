//! Other programs: found or named, their output passed on, their exit status checked.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::BuildError;

/// A program that a build needs.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its file name.
    pub name: &'static str,
    /// What it is needed for, as a clause.
    pub needed_for: &'static str,
    /// How to get it, as a sentence.
    pub get: &'static str,
    /// What often helps when it fails.
    pub advice: Option<&'static str>,
}

impl Tool {
    /// Runs it in `dir`, with all its output on standard error: standard output is for results.
    pub fn run<A: AsRef<OsStr>>(self, dir: &Path, args: &[A]) -> Result<(), BuildError> {
        let mut command = Command::new(self.name);
        command.current_dir(dir).args(args).stdout(Stdio::from(io::stderr()));
        self.finish(&mut command).map(|_| ())
    }

    /// Runs it in `dir` for what it prints on standard output.
    pub fn capture<A: AsRef<OsStr>>(self, dir: &Path, args: &[A]) -> Result<String, BuildError> {
        let mut command = Command::new(self.name);
        command.current_dir(dir).args(args).stdout(Stdio::piped());
        let output = self.finish(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a prepared command to its end.
    pub fn finish(self, command: &mut Command) -> Result<Output, BuildError> {
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Self { name: tool, needed_for, get, .. } = self;
                return Err(BuildError::MissingTool { tool, needed_for, get });
            }
            Err(source) => return Err(BuildError::Start { command: line(command), source }),
        };
        if output.status.success() {
            return Ok(output);
        }
        Err(BuildError::Failed {
            command: line(command),
            status: output.status,
            advice: self.advice,
        })
    }

    /// Whether it can be started at all.
    pub fn is_there(self) -> bool {
        let quiet = |it: &mut Command| {
            it.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        };
        let mut command = Command::new(self.name);
        quiet(&mut command);
        command.status().is_ok_and(|it| it.success())
    }
}

/// A command as a person would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|it| it.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
