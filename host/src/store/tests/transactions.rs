//! Every transaction that writes is named, and `TRANSACTIONS.md` says of each what it relies on, and whether others may
//! write beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::plans::sources;

/// How a transaction begins, and what the table calls it.
const BEGINNINGS: [(&str, &str); 2] = [(".begin(\"", "alone"), (".begin_beside(\"", "beside")];
/// The connections of single statements.
const CONNECTIONS: [&str; 2] = ["(&self.db.writer)", "(&self.db.beside)"];

#[test]
fn the_table_of_transactions_names_all_of_them_and_how_they_write() {
    let mut begun = BTreeMap::new();
    for (_, source) in sources() {
        for (beginning, writes) in BEGINNINGS {
            for rest in source.split(beginning).skip(1) {
                let name = rest.split('"').next().unwrap_or_default().to_owned();
                assert!(begun.insert(name.clone(), writes).is_none(), "two are called {name}");
            }
        }
    }
    let table = document();
    let rows = table.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name.to_owned(), rest.split(' ').next()?))
    });
    assert_eq!(begun, rows.collect(), "TRANSACTIONS.md has a row for each transaction");
}

#[test]
fn the_document_lists_each_function_that_writes_without_a_transaction() {
    let sources = sources();
    let mut names = BTreeSet::new();
    for (_, source) in &sources {
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (at, _) in CONNECTIONS.iter().flat_map(|it| code.match_indices(*it)) {
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
