//! Which statements only SQLite understands. Every other text is written once for PostgreSQL too; a list of
//! values is always the same phrase, and one of identifiers another, which a driver with arrays replaces (see `decisions/0033`).

use std::collections::BTreeSet;

use super::plans::all_statements;

/// What PostgreSQL does not have, or means otherwise.
const OWN_WORDS: [&str; 17] = [
    "INDEXED BY",
    "CROSS JOIN",
    "->",
    "json_each",
    "json_set",
    "json_insert",
    "json_patch",
    "json_array",
    "json_object",
    "json_group",
    "hex(",
    "random()",
    "rowid",
    "pragma_",
    "iif(",
    "GLOB",
    "LIMIT -1",
];
const LISTS: [&str; 2] =
    ["(SELECT value FROM json_each($", "(SELECT unhex(value) FROM json_each($"];

/// The statements to write a second time for a second database.
const OWN: [&str; 25] = [
    // Lists that are joined, and JSON columns.
    "change_brand: a null in the patch takes a member away (RFC 7396)",
    "note_test",
    "settle_deliveries",
    "signing_keys",
    "add_bounce_facts",
    "waited_for",
    // The order of a join, or the index, said to SQLite's planner.
    "drop_counts: periods",
    "due_deliveries",
    "due_in",
    "due_lanes",
    "due_lanes: of the sandbox",
    "gauges: queue",
    "last_attempts_in",
    "mend_due_times",
    "next_due",
    "waiting_in",
    "webhook_deliveries",
    "webhook_delivery",
    // Pages of the file.
    "convert",
    "excess",
    "gauges: file",
    // The order in which rows were written, and chance.
    "hasten_domain_checks",
    "record_samples: drop the excess",
    "samples",
    "samples: of a slot",
];

#[test]
fn every_other_statement_is_written_once_for_both_databases() {
    let mut own = BTreeSet::new();
    let all = all_statements();
    for (name, text) in &all {
        let text = LISTS.iter().fold(text.clone(), |text, list| text.replace(list, ""));
        if OWN_WORDS.iter().any(|word| text.contains(word)) {
            own.insert(name.as_str());
        }
        assert!(!text.contains('?'), "{name}: parameters are $1, $2, …");
    }
    assert_eq!(own, OWN.into_iter().collect(), "statements that only SQLite understands");
}
