//! Threat models, and the promises of the architecture, name the tests that would fail without them: those tests exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::sources::{assert_no_violations, rust_files, workspace};

const DOCUMENTS: [&str; 4] = [
    "host/ARCHITECTURE.md",
    "host/THREATS.md",
    "host/src/plugin/THREATS.md",
    "host/src/upkeep/verify_domains/TAKEOVER.md",
];
const HOMES: [&str; 5] = ["host/src", "host/crates", "tests", "plugins", "plugin-sdk"];

/// What a claim can name: the functions that are tests, and the modules that they are in.
#[derive(Debug, Default)]
struct Known {
    tests: BTreeSet<String>,
    modules: BTreeSet<String>,
}

#[test]
fn the_tests_that_documents_name_exist() {
    let known = known();
    for document in DOCUMENTS {
        let text = fs::read_to_string(workspace().join(document)).expect("it is readable");
        let claims = claims(&text);
        assert!(claims.len() > 5, "{document} names tests");
        let broken: Vec<String> =
            claims.into_iter().filter(|claim| !holds(claim, &known)).collect();
        assert_no_violations(&broken, &format!("{document} names tests that are not there"));
    }
}

#[test]
fn a_claim_without_its_test_is_noticed() {
    let mut known = Known::default();
    known.tests.insert("a_key_is_refused".to_owned());
    known.modules.extend(["relay".to_owned(), "abuse".to_owned()]);
    for claim in ["e2e relay::abuse::a_key_is_refused", "…abuse::a_key_is_refused", "relay::abuse"]
    {
        assert!(holds(claim, &known), "{claim}");
    }
    for claim in ["e2e relay::abuse::a_key_is_taken", "e2e relay::bounds::a_key_is_refused", "x"] {
        assert!(!holds(claim, &known), "{claim}");
    }
    let table =
        "| a | tests |\n|---|---|\n| `no` | `one::two`, `::three` |\n\n| b | c |\n| - | `x` |\n";
    assert_eq!(claims(table), ["one::two", "::three"]);
}

/// What stands in backticks in the last column of the tables whose last column is `tests`.
fn claims(text: &str) -> Vec<String> {
    let (mut claims, mut is_of_tests) = (Vec::new(), false);
    for line in text.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let last = cells.last().copied().unwrap_or_default();
        if !line.starts_with('|') {
            is_of_tests = false;
        } else if last == "tests" {
            is_of_tests = true;
        } else if is_of_tests {
            claims.extend(last.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    claims
}

fn holds(claim: &str, known: &Known) -> bool {
    let path = claim.trim_start_matches("e2e ").replace('…', "::");
    let mut parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
    let Some(last) = parts.pop() else { return false };
    let is_module = |part: &str| part == "tests" || known.modules.contains(part);
    (known.tests.contains(last) || is_module(last)) && parts.into_iter().all(is_module)
}

fn known() -> Known {
    let mut known = Known::default();
    for home in HOMES {
        for file in rust_files(&workspace().join(home)) {
            let names = file.iter().filter_map(|part| part.to_str());
            known.modules.extend(names.map(|name| name.trim_end_matches(".rs").to_owned()));
            known.tests.extend(tests_in(&file));
        }
    }
    known
}

fn tests_in(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a source is readable");
    let (mut tests, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else if is_test && let Some((_, rest)) = line.split_once("fn ") {
            tests.push(rest.split(['(', '<']).next().unwrap_or_default().to_owned());
            is_test = false;
        }
    }
    tests
}
