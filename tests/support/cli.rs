//! The command line, as a script uses it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::launch::waxwing;
use crate::seed::Seed;
use crate::server::Server;

impl Server {
    /// Runs a command with `--json` on the server's data directory, in the server's environment.
    ///
    /// # Panics
    /// It fails, or does not print JSON.
    #[must_use = "a command answers what it did"]
    pub fn cli(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "waxwing {arguments:?}: {errors}");
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// Runs a command that must succeed; answers what it says on standard error.
    ///
    /// # Panics
    /// It fails.
    #[must_use = "what it says is the point"]
    pub fn cli_warns(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "waxwing {arguments:?} fails");
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    /// Runs a command that must fail; answers what it says.
    ///
    /// # Panics
    /// It succeeds.
    #[must_use = "what it says is the point"]
    pub fn cli_fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "waxwing {arguments:?} succeeds");
        assert!(output.stdout.is_empty(), "a failed command prints nothing to parse");
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    /// Runs a command as a person does, without `--json`; answers what it prints.
    ///
    /// # Panics
    /// It fails.
    #[must_use = "what it prints is the point"]
    pub fn cli_text(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("the binary runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "waxwing {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs lines of a shell as a person types them, in a folder whose `waxwing-data` is the server's data directory.
    ///
    /// # Panics
    /// They fail.
    #[must_use = "what they print is the point"]
    pub fn shell(&self, folder: &Path, lines: &str) -> String {
        let output = self.shell_output(folder, lines);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines}\n{errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The same, where the outcome is in question.
    ///
    /// # Panics
    /// There is no shell.
    #[must_use = "the outcome is the point"]
    pub fn shell_output(&self, folder: &Path, lines: &str) -> Output {
        let data = folder.join("waxwing-data");
        if !data.exists() {
            symlink(self.data_dir(), data).expect("linked");
        }
        let binary = Seed::of_this_build().binary();
        let programs = binary.parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", lines]).current_dir(folder).stdin(Stdio::null());
        shell.env("PATH", format!("{}:{path}", programs.display()));
        shell.envs(self.environment());
        shell.output().expect("sh runs")
    }

    /// Runs a command in a folder with an API key in its environment, as a script in a repository does.
    ///
    /// # Panics
    /// The binary does not run.
    #[must_use = "how it ends is the point"]
    pub fn cli_as(&self, key: &str, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.current_dir(folder).env("WAXWING_API_KEY", key);
        command.output().expect("the binary runs")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).arg("--json").output().expect("the binary runs")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = waxwing();
        command
            .envs(self.environment())
            .args(arguments)
            .arg("--data-dir")
            .arg(self.data_dir())
            .stdin(Stdio::null());
        command
    }
}
