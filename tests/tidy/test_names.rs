//! The name of a test is a sentence that is read at one glance.

use std::fs;

use crate::sources::{assert_no_violations, rust_files, workspace};

const MAX_CHARS: usize = 70;
const FOLDERS: [&str; 5] = ["host/src", "host/crates", "plugin-sdk", "plugins", "tests"];

#[test]
fn no_function_has_a_name_longer_than_a_sentence_may_be() {
    let mut long = Vec::new();
    for file in FOLDERS.into_iter().flat_map(|folder| rust_files(&workspace().join(folder))) {
        let source = fs::read_to_string(&file).expect("a source is readable");
        for name in source.lines().filter_map(function).filter(|it| it.len() > MAX_CHARS) {
            long.push(format!("{}: {name}", file.display()));
        }
    }
    assert_no_violations(&long, "these names have more than 70 characters");
}

fn function(line: &str) -> Option<&str> {
    let (before, name) = line.trim_start().split_once("fn ")?;
    let is_declared = before.split_whitespace().all(|it| it == "async" || it.starts_with("pub"));
    is_declared.then(|| name.split(['(', '<']).next()).flatten()
}
