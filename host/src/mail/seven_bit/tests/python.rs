//! The same messages, read by the `email` package of Python's standard library.

use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::*;

/// Reads cases from its standard input; prints what differs.
const CHECK: &str = include_str!("check.py");

#[test]
fn python_decodes_the_same() {
    let mut runner = TestRunner::deterministic();
    let entity = properties::entity();
    let cases: Vec<_> = (0..300)
        .map(|_| {
            let entity = entity.new_tree(&mut runner).expect("a random case").current();
            let before = properties::message(&entity);
            let after = to_seven_bit(&before).expect("can be converted");
            json!([STANDARD.encode(before), STANDARD.encode(after)])
        })
        .collect();
    let Some(output) = run_python(&json!(cases).to_string()) else { return };
    assert_eq!(output, format!("{} messages read\n", cases.len()));
}

/// What Python printed; none if there is no Python here and that is allowed.
fn run_python(input: &str) -> Option<String> {
    let spawned = Command::new("python3")
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut python = match spawned {
        Ok(python) => python,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI needs python3: {error}");
            let note = format!("\n*** NOT RUN against Python's email package: {error}\n");
            std::io::stderr().write_all(note.as_bytes()).expect("standard error takes it");
            return None;
        }
    };
    let mut stdin = python.stdin.take().expect("standard input is piped");
    stdin.write_all(input.as_bytes()).expect("python reads its input");
    drop(stdin);
    let output = python.wait_with_output().expect("python ends");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
