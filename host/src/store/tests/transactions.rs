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
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/TRANSACTIONS.md");
    let table = std::fs::read_to_string(table).expect("readable");
    let listed: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(names, listed, "TRANSACTIONS.md has a row for each transaction");
}
