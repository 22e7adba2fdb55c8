//! The same messages, read by the `email` package of Python's standard library.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use waxwing_tools::{Need, run_python};

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
    if !Need::Python.is_met("messages converted to seven bits, by Python's email package") {
        return;
    }
    let input = json!(cases).to_string();
    let output = run_python(Path::new("python3"), CHECK, input.as_bytes());
    assert_eq!(output, format!("{} messages read\n", cases.len()));
}
