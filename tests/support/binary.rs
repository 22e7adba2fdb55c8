//! The server's binary: built once by this process, or the one that `WAXWING_BIN` names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The binary that is under test.
///
/// # Panics
/// It does not build.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("WAXWING_BIN") {
        Some(path) => std::path::absolute(path).expect("WAXWING_BIN is a path"),
        None => build(),
    })
}

/// Builds with the profile and the features of `cargo test --workspace`, so that no dependency is
/// compiled twice: cargo joins the features of all selected packages, and those of their tests only
/// where a test is selected too.
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--workspace", "--bin", "waxwing", "--test", "tidy"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "the server does not build");
    let messages = String::from_utf8(output.stdout).expect("cargo speaks UTF-8");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "waxwing")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the executable")
}
