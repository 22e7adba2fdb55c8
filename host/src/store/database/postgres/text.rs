//! From a text that SQLite understands to one that PostgreSQL does. What differs are the phrases for lists, and words to
//! SQLite's planner, which PostgreSQL does without; statements that differ otherwise have a second text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A list in SQLite's words up to the number of its parameter, and in those for an array. SQLite's phrase closes
/// with `))`, PostgreSQL's with `)`.
const LISTS: [(&str, &str); 4] = [
    ("NOT IN (SELECT value FROM json_each(", "<> ALL("),
    ("NOT IN (SELECT unhex(value) FROM json_each(", "<> ALL("),
    ("IN (SELECT value FROM json_each(", "= ANY("),
    ("IN (SELECT unhex(value) FROM json_each(", "= ANY("),
];
/// In which order SQLite is to join, and by which index it is to find rows.
const ORDER: (&str, &str) = ("CROSS JOIN ", "JOIN ");
const INDEX: &str = " INDEXED BY ";

/// Texts that were converted before. Bounded: the keys are constants of the program.
static KNOWN: LazyLock<RwLock<HashMap<&'static str, &'static str>>> =
    LazyLock::new(RwLock::default);

/// The text of a constant.
pub fn of_constant(text: &'static str) -> &'static str {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(text).copied();
    known.unwrap_or_else(|| {
        let own = match for_server(text) {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => String::leak(text),
        };
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(text, own);
        own
    })
}

/// The text of a statement.
pub fn for_server(text: &str) -> Cow<'_, str> {
    let mut own = Cow::Borrowed(text);
    for (list, array) in LISTS {
        while let Some((before, rest)) = own.split_once(list) {
            let (number, after) = rest.split_once("))").unwrap_or((rest, ""));
            own = Cow::Owned(format!("{before}{array}{number}){after}"));
        }
    }
    while let Some((before, rest)) = own.split_once(INDEX) {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let after = rest.get(end..).unwrap_or_default();
        own = Cow::Owned(format!("{before}{after}"));
    }
    if own.contains(ORDER.0) {
        own = Cow::Owned(own.replace(ORDER.0, ORDER.1));
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_arrays_and_words_to_the_planner_go() {
        for (before, after) in [
            ("SELECT 1", "SELECT 1"),
            ("a IN (SELECT value FROM json_each($12)) AND b", "a = ANY($12) AND b"),
            (
                "a NOT IN (SELECT unhex(value) FROM json_each($1)) OR (b IN (SELECT value FROM json_each($2)))",
                "a <> ALL($1) OR (b = ANY($2))",
            ),
            ("FROM a CROSS JOIN b INDEXED BY its_index ON a.c = b.c", "FROM a JOIN b ON a.c = b.c"),
            ("FROM a INDEXED BY its_index\n WHERE b", "FROM a\n WHERE b"),
            ("FROM a INDEXED BY its_index", "FROM a"),
        ] {
            assert_eq!(for_server(before), after);
            assert_eq!(of_constant(before), after);
            assert_eq!(of_constant(before).as_ptr(), of_constant(before).as_ptr());
        }
    }
}
