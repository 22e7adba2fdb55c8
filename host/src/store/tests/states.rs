//! Lists of states that stand in a text, because SQLite knows a partial index by its words: they are those of
//! the rule, in the statement and in the index.

use super::*;
use crate::message::state::MessageState;
use crate::store::database::{column, sql};
use crate::store::message_pages::{IS_RARE, RARE};
use crate::store::retention::FINISHED_WITH_CONTENT;
use crate::store::settle::ANOTHER_FAILURE;

#[tokio::test]
async fn the_states_of_each_partial_index_are_those_of_its_rule() {
    let store = Fixture::with_credits(1).await.store;
    let failures = MessageState::all_that(MessageState::counts_against_address);
    for (index, states, statement) in [
        (
            "messages_with_content",
            MessageState::all_that(MessageState::is_final),
            FINISHED_WITH_CONTENT,
        ),
        ("messages_failed", failures, ANOTHER_FAILURE),
        ("messages_by_state", RARE.to_vec(), IS_RARE),
    ] {
        let words = sql("-- words\nSELECT sql FROM sqlite_schema WHERE name = $1").bind(index);
        let row = words.one(&store.db.writer).await.expect("the index is there");
        let of_index: String = column(&row, "sql").expect("text");
        assert_eq!(lists(statement), lists(&of_index), "{index}");
        let is_in = |state: &MessageState| {
            let holds = |(not, list): &(bool, String)| list.contains(&format!("'{state}'")) != *not;
            lists(statement).iter().all(holds)
        };
        let meant: Vec<MessageState> = MessageState::ALL.into_iter().filter(is_in).collect();
        assert_eq!(sorted(&meant), sorted(&states), "{index}");
    }
}

/// `(…)` behind each `state IN` and, with true, `state NOT IN`.
fn lists(text: &str) -> Vec<(bool, String)> {
    let list = |rest: &str| {
        let (before, list) = rest.split_once("IN (").expect("a list");
        (before.contains("NOT"), list.split(')').next().unwrap_or_default().to_owned())
    };
    text.split("state ")
        .skip(1)
        .filter(|it| it.starts_with("IN") || it.starts_with("NOT IN"))
        .map(list)
        .collect()
}

fn sorted(states: &[MessageState]) -> Vec<String> {
    let mut words: Vec<String> = states.iter().map(ToString::to_string).collect();
    words.sort_unstable();
    words
}

/// For a list of more than two values in a condition it would, once for each row.
#[tokio::test]
async fn sqlite_makes_no_table_of_its_own_to_write_what_a_send_writes() {
    let store = Fixture::with_credits(1).await.store;
    for table in
        ["bodies", "events", "ledger", "messages", "queue", "sent", "template_usage", "usage"]
    {
        let mut explain = sql("EXPLAIN INSERT INTO ");
        explain.push(table).push(" DEFAULT VALUES");
        let steps = explain.all(&store.db.writer).await.expect("it is explained");
        let steps = steps.iter().map(|row| column(row, "opcode").expect("text"));
        let steps: Vec<String> = steps.collect();
        assert!(steps.contains(&"Halt".to_owned()), "{steps:?}");
        assert!(!steps.contains(&"OpenEphemeral".to_owned()), "{table}");
    }
}
