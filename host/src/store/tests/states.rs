//! Lists of states that stand in a text, because SQLite knows a partial index by its words: they are those of
//! the rule, in the statement and in the migration.

use crate::message::state::MessageState;
use crate::store::message_pages::{IS_RARE, RARE};
use crate::store::retention::FINISHED_WITH_CONTENT;
use crate::store::settle::ANOTHER_FAILURE;

#[test]
fn the_states_of_each_partial_index_are_those_of_its_rule() {
    let migration = include_str!("../../../../migrations/sqlite/0016_whole.sql");
    for (states, statement) in [
        (MessageState::all_that(MessageState::is_final), FINISHED_WITH_CONTENT),
        (MessageState::all_that(MessageState::counts_against_address), ANOTHER_FAILURE),
        (RARE.to_vec(), IS_RARE),
    ] {
        let words: Vec<String> = states.iter().map(|it| format!("'{it}'")).collect();
        let list = format!("state IN ({})", words.join(", "));
        assert!(statement.contains(&list), "{list} in {statement}");
        assert!(migration.contains(&list), "{list} in the migration");
    }
}
