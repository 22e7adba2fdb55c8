//! Which statements only SQLite understands: each of them has a second text. Every other text is written once; the phrases
//! for lists, and words to SQLite's planner, are replaced by `database/postgres/text`.
//!
//! Statements are told by their first line, `-- name`. Texts without one are pieces of composed statements, and
//! what is said to SQLite itself; [`OWN_PIECES`] lists by file those that only SQLite understands.

use std::collections::BTreeSet;

use super::plans::{all_statements, sources};
use super::server::{OF_A_FILE, second_texts};

/// What PostgreSQL does not have, or means otherwise.
const OWN_WORDS: [&str; 17] = [
    "->",
    "json_each",
    "json_set",
    "json_insert",
    "json_patch",
    "json_array(",
    "json_array_length(",
    "json_object(",
    "json_group",
    "hex(",
    "random()",
    "rowid",
    "pragma_",
    "iif(",
    "GLOB",
    "instr(",
    "LIMIT -1",
];
const LISTS: [&str; 2] = ["(SELECT value FROM json_each(", "(SELECT unhex(value) FROM json_each("];

/// Words of pieces that only SQLite understands, by file.
const OWN_PIECES: [(&str, &str); 20] = [
    // Filters of lists: tags, and what a decision holds.
    ("decisions.rs", "->"),
    ("decisions.rs", "json_each"),
    ("message_pages.rs", "instr("),
    ("message_pages.rs", "json_each"),
    // The file, its pages and its connections.
    ("database/inline.rs", "BEGIN IMMEDIATE"),
    ("database/quick_check.rs", "PRAGMA"),
    ("database/sqlite.rs", "PRAGMA"),
    ("embedded.rs", "BEGIN IMMEDIATE"),
    ("embedded.rs", "PRAGMA"),
    ("embedded.rs", "VACUUM"),
    ("upkeep.rs", "PRAGMA"),
    // The conversion of a file of an earlier version.
    ("database/convert.rs", "PRAGMA"),
    ("database/convert.rs", "pragma_"),
    ("database/convert/fill.rs", "ATTACH"),
    ("database/convert/fill.rs", "PRAGMA"),
    ("database/convert/fill.rs", "pragma_"),
    ("database/convert/fill.rs", "rowid"),
    // The move of all rows to another database.
    ("database/transfer/schema.rs", "pragma_"),
    ("database/transfer/schema.rs", "rowid"),
    ("database/transfer/write.rs", "PRAGMA"),
];
/// What begins a statement to SQLite itself.
const TO_SQLITE: [&str; 4] = ["PRAGMA", "VACUUM", "ATTACH", "BEGIN IMMEDIATE"];

#[test]
fn every_other_piece_and_pragma_is_written_once_for_both_databases() {
    let sources = sources();
    let mut own = BTreeSet::new();
    for (file, source) in sources.iter().filter(|(file, _)| !file.starts_with("database/postgres"))
    {
        for piece in literals(source).iter().filter(|it| !it.starts_with("-- ")) {
            let piece = LISTS.iter().fold(piece.clone(), |piece, list| piece.replace(list, ""));
            let words = OWN_WORDS.iter().chain(&TO_SQLITE).filter(|word| piece.contains(**word));
            own.extend(words.copied().chain(own_calls(&piece)).map(|word| (file.as_str(), word)));
        }
    }
    assert_eq!(own, OWN_PIECES.into_iter().collect(), "pieces that only SQLite understands");
}

/// Calls that PostgreSQL does not have, or answers otherwise: `min` and `max` of several values are `least` and
/// `greatest` there, and `substr` does not count from the end.
fn own_calls(text: &str) -> impl Iterator<Item = &'static str> {
    let calls = |name: &'static str, is_own: fn(&[&str]) -> bool| {
        let found = text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|it| it.chars().next_back()).unwrap_or(' ');
            let is_name = !before.is_alphanumeric() && before != '_';
            is_name && is_own(&arguments(text.get(at + name.len()..).unwrap_or_default()))
        });
        found.then_some(name)
    };
    let several = |arguments: &[&str]| arguments.len() > 1;
    let from_end =
        |arguments: &[&str]| arguments.get(1).is_some_and(|it| it.trim_start().starts_with('-'));
    [calls("min(", several), calls("max(", several), calls("substr(", from_end)]
        .into_iter()
        .flatten()
}

/// The arguments of a call whose name and opening parenthesis stand before `rest`.
fn arguments(rest: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, it) in rest.char_indices() {
        match it {
            '(' => depth += 1,
            ')' if depth == 0 => {
                found.extend(rest.get(begin..at));
                break;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(rest.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn calls_that_only_sqlite_understands_are_found() {
    let own = |text| own_calls(text).collect::<Vec<_>>();
    assert_eq!(own("SELECT min(a, abs(b)), max(c)"), ["min("]);
    assert_eq!(own("SELECT substr(a, -length(b) - 1), max((SELECT 1), 2)"), ["max(", "substr("]);
    assert!(own("SELECT min(coalesce(a, b)), substr(a, 1, 4), xmin(a, b)").is_empty());
}

/// The string literals of a source file up to its tests, as they stand there.
pub(super) fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut literals = Vec::new();
    let mut code = source.chars().peekable();
    let mut before = ' ';
    while let Some(it) = code.next() {
        match it {
            '/' if before == '/' => while code.next_if(|it| *it != '\n').is_some() {},
            '"' if before != '\'' => {
                let mut literal = String::new();
                while let Some(it) = code.next_if(|it| *it != '"') {
                    literal.push(it);
                    if it == '\\' {
                        literal.extend(code.next());
                    }
                }
                code.next();
                literals.push(literal);
            }
            _ => {}
        }
        before = it;
    }
    literals
}

#[test]
fn a_piece_of_a_statement_is_found_and_a_comment_is_not() {
    let source = "query.push(\" GLOB \"); // \"PRAGMA\"\nlet it = ('\"', \"a\\\"b\");";
    assert_eq!(literals(source), [" GLOB ", "a\\\"b"]);
}

#[test]
fn every_other_statement_is_written_once_for_both_databases() {
    let second: BTreeSet<String> = second_texts().into_keys().collect();
    for (name, text) in all_statements() {
        let only = LISTS.iter().fold(text.clone(), |text, list| text.replace(list, ""));
        let is_own =
            OWN_WORDS.iter().any(|word| only.contains(word)) || own_calls(&only).next().is_some();
        let is_told_twice = second.contains(&name) || OF_A_FILE.contains(&name.as_str());
        assert!(!is_own || is_told_twice, "{name} wants a second text, for PostgreSQL: {text}");
        assert!(!text.contains('?'), "{name}: parameters are $1, $2, …");
    }
}

/// Nodes of an earlier version work with tables to which a later one has added columns.
#[test]
fn every_statement_names_its_columns() {
    // These read from the database itself which columns there are, and run on tables of their own version alone.
    let reads_tables = ["database/convert", "database/transfer"];
    for (file, source) in sources() {
        if reads_tables.iter().any(|it| file.starts_with(it)) {
            continue;
        }
        for text in literals(&source) {
            let text = text.replace("\\n", " ");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let names_all = |from: &str| from.starts_with('(') || from.starts_with("unnest(");
            assert!(text.split("SELECT * FROM ").skip(1).all(names_all), "{file}: {text}");
            assert!(!text.contains("RETURNING *") && !text.contains(".*"), "{file}: {text}");
            let names_columns =
                |into: &str| into.split_once(' ').is_some_and(|(_, it)| it.starts_with('('));
            assert!(text.split("INSERT INTO ").skip(1).all(names_columns), "{file}: {text}");
        }
    }
}
