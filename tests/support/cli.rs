//! The command line, as a script uses it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::launch::waxwing;
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

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).arg("--json").output().expect("the binary runs")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = waxwing();
        command
            .envs(self.environment().iter().map(|(name, value)| (name, value)))
            .args(arguments)
            .arg("--data-dir")
            .arg(self.data_dir())
            .stdin(Stdio::null());
        command
    }
}
