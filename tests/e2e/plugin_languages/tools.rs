//! The languages, and the programs that they need.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use waxwing_tools::Need;

/// What a plugin is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    JavaScript,
    Python,
}

impl Language {
    /// As in `--lang`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::Python => "python",
        }
    }

    /// Whether its programs are installed; where not, that is noted.
    pub fn is_here(self) -> bool {
        let unproven = self.unproven();
        match self {
            Self::Rust => true,
            Self::JavaScript => Need::Node.is_met(&unproven),
            Self::Python => Need::PythonVenv.is_met(&unproven),
        }
    }

    /// What is not proven without them.
    pub fn unproven(self) -> String {
        format!("plugins in {}", self.name())
    }

    /// Whether the registry with its tools can be reached from a project.
    pub fn has_registry(self, project: &Path) -> bool {
        let words: &[&str] = match self {
            Self::Rust => &["cargo", "fetch"],
            Self::JavaScript => &["npm", "ping"],
            Self::Python => &[
                "./.venv/bin/python",
                "-m",
                "pip",
                "download",
                "--no-cache-dir",
                "--no-deps",
                "--dest",
                "build/probe",
                "pip",
            ],
        };
        let mut command = command(words);
        command.current_dir(project);
        succeeds(command)
    }
}

/// The binary under test, free of the configuration of whoever runs the tests.
pub fn waxwing() -> Command {
    without_host_flags(Command::new(waxwing_tests::binary()))
}

/// A build by the binary under test: it steps back for the tests that measure time.
pub fn polite_waxwing() -> Command {
    let mut command = command(&["nice", "-n", "10"]);
    command.arg(waxwing_tests::binary());
    command
}

/// A program with its arguments.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    without_host_flags(command)
}

/// The settings of the cargo that runs the tests are not for the projects' own.
fn without_host_flags(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("WAXWING_") || text == "RUSTUP_TOOLCHAIN";
        let for_the_host = text.starts_with("CARGO_") && text != "CARGO_HOME"
            || text.starts_with("RUSTFLAGS")
            || text.starts_with("RUSTC_")
            || text == "RUSTDOCFLAGS";
        if ours || for_the_host {
            command.env_remove(&name);
        }
    }
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs it to its end.
///
/// # Panics
/// It cannot be started.
pub fn output(command: &mut Command) -> Output {
    let output = command.output();
    assert!(output.is_ok(), "{} does not start: {output:?}", typed(command));
    output.expect("it was started")
}

/// Runs a command that must succeed; answers what it prints, which is JSON.
///
/// # Panics
/// It fails, or prints something else.
pub fn answer_of(command: &mut Command) -> Value {
    let output = output(command);
    json_of(command, &output)
}

/// What a command printed that must have succeeded.
///
/// # Panics
/// It failed, or printed something else than JSON.
pub fn json_of(command: &Command, output: &Output) -> Value {
    succeeded(command, output);
    let said = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&said);
    assert!(value.is_ok(), "{}: {value:?}: {said}", typed(command));
    value.expect("it is JSON")
}

/// Shows all that a command has said, where it failed.
///
/// # Panics
/// It failed.
pub fn succeeded(command: &Command, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} fails:\n{said}\n{errors}", typed(command));
}

/// A command as a person would type it, and where.
fn typed(command: &Command) -> String {
    let folder = command.get_current_dir().unwrap_or(Path::new(".")).display();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|it| it.to_string_lossy()).collect();
    format!("`{}` in {folder}", words.join(" "))
}

fn succeeds(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}
