//! Signed messages, verified by an implementation that is not ours: as they are, after what servers
//! do to them in transit, and after what must break a signature.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::random::message;
use super::samples::{Sample, bodies, headers, large, whole};
use super::*;

const RANDOM: usize = 200;

#[test]
fn dkimpy_verifies_what_is_signed_here_and_nothing_that_was_altered() {
    let mut cases: Vec<Value> =
        [bodies(), headers(), whole()].concat().iter().map(|it| case(it, "all")).collect();
    cases.push(case(&large(), "few"));
    let mut runner = TestRunner::deterministic();
    cases.extend((0..RANDOM).map(|at| {
        let message = message().new_tree(&mut runner).expect("a random case").current();
        case(&(format!("random {at}: {message:?}"), message.into_bytes()), "few")
    }));
    let records = json!({
        "r": format!("v=DKIM1; k=rsa; p={}", rsa_key().key.public_base64()),
        "e": format!("v=DKIM1; k=ed25519; p={}", rfc_key().public_base64()),
    });
    let input = json!({ "domain": "example.com", "records": records, "cases": cases });
    let Some(python) = waxwing_tools::python("DKIM signatures, by dkimpy") else { return };
    let script = include_str!("verify.py");
    let output = waxwing_tools::run_python(&python, script, input.to_string().as_bytes());
    let verified = format!("{} messages verified\n", cases.len());
    assert!(output.ends_with(&verified) && output.lines().count() == 1, "{output}");
}

/// What a server receives; DATA ends the last line.
fn case((name, message): &Sample, changes: &str) -> Value {
    let mut received = [fields(message).as_slice(), message].concat();
    if !received.ends_with(b"\r\n") {
        received.extend_from_slice(b"\r\n");
    }
    json!({ "name": name, "message": STANDARD.encode(received), "changes": changes })
}
