//! Every transaction that writes is named, and `TRANSACTIONS.md` says of each what it relies on.

use std::collections::BTreeSet;
use std::path::Path;

use super::plans::sources;

#[test]
fn the_table_of_transactions_names_all_of_them() {
    let begun: Vec<String> = sources()
        .iter()
        .flat_map(|(_, source)| {
            source.split(".begin(\"").skip(1).map(str::to_owned).collect::<Vec<_>>()
        })
        .filter_map(|rest| rest.split('"').next().map(str::to_owned))
        .collect();
    let names: BTreeSet<&str> = begun.iter().map(String::as_str).collect();
    assert_eq!(names.len(), begun.len(), "two transactions have one name: {begun:?}");
    let table = document();
    let listed = listed(&table, "| `");
    assert_eq!(names, listed, "TRANSACTIONS.md has a row for each transaction");
}

#[test]
fn the_document_lists_each_function_that_writes_without_a_transaction() {
    let sources = sources();
    let mut names = BTreeSet::new();
    for (_, source) in &sources {
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (at, _) in code.match_indices("(&self.db.writer)") {
            let before = code.get(..at).and_then(|it| it.rsplit("fn ").next()).unwrap_or_default();
            names.extend(before.split(['(', '<']).next());
        }
    }
    let document = document();
    assert_eq!(names, listed(&document, "- `"), "TRANSACTIONS.md lists them");
}

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/TRANSACTIONS.md");
    std::fs::read_to_string(path).expect("readable")
}

/// The names behind that beginning of a line.
fn listed<'a>(document: &'a str, beginning: &str) -> BTreeSet<&'a str> {
    document.lines().filter_map(|line| line.strip_prefix(beginning)?.split('`').next()).collect()
}
