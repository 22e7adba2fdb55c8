//! Python, which reads cases from its standard input and prints what it found.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

const SCRIPT: &str = include_str!("verify.py");

/// What the script printed; none if there is no Python with dkimpy here and that is allowed.
pub(super) fn verify(cases: &Value) -> Option<String> {
    let spawned = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut python = match spawned {
        Ok(python) => python,
        Err(error) => return skipped(&format!("python3 does not start: {error}")),
    };
    let mut stdin = python.stdin.take().expect("standard input is piped");
    stdin.write_all(cases.to_string().as_bytes()).expect("python reads its input");
    drop(stdin);
    let output = python.wait_with_output().expect("python ends");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.strip_prefix("NOT INSTALLED ") {
        Some(module) => skipped(&format!("{module} is missing (pip install dkimpy pynacl)")),
        None => Some(output),
    }
}

/// Says so past the test harness, which swallows what `eprintln!` writes when a test passes.
fn skipped(reason: &str) -> Option<String> {
    let reason = reason.replace('\n', "");
    assert!(std::env::var_os("CI").is_none(), "CI verifies signatures: {reason}");
    let note = format!("\n*** NOT RUN: no signature was verified by dkimpy, because {reason}\n\n");
    std::io::stderr().write_all(note.as_bytes()).expect("standard error takes it");
    None
}
