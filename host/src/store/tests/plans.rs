//! How SQLite finds what each statement of the store asks for: by an index, or it stands here why not.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::store::database::{column, sql};

/// Statements that go through all rows of a table or of an index, each with what makes that harmless.
const SCANS: [(&str, &str); 58] = [
    ("accounts_being_deleted", "reads the index that holds accounts which are being deleted alone"),
    ("finish_deletion: revision", "the table has one row"),
    ("drop_people_of: sessions", "sessions end; once for some people of a deleted account"),
    ("drop_people_of: acting", "sessions end; once for some people of a deleted account"),
    ("drop_people_of: links", "links end; once for some people of a deleted account"),
    ("drop_lanes_of: look", "reads the lanes beside those who write, for a deleted account"),
    ("drop_ledger_of: which", "walks over entries that it finds one by one by the primary key"),
    ("webhook_counts: ended", "walks over the bounded rows that it finds by the primary key"),
    ("webhook_counts: waiting", "walks over the bounded rows that it finds by an index"),
    ("account", "walks over thirty days, which it counts itself"),
    ("template_usage", "walks over thirty days, which it counts itself"),
    ("template_failures", "walks over thirty days, which it counts itself"),
    ("accounts", "lists all accounts for the command line, on a connection for lists"),
    ("accounts_after", "walks over thirty days, which it counts itself"),
    ("requeue_one_of_each: look", "walks over names that it finds one by one in the index"),
    ("correct_lanes: due later", "walks over the one row that it finds by an index"),
    ("count_domain_checks", "counts sender domains for the pace of a sweep over all of them"),
    (
        "destinations",
        "walks over names that it finds one by one in the index, on a connection for lists",
    ),
    (
        "domains_in_trouble",
        "reads sender domains for the operator's page, on a connection for lists",
    ),
    ("sent_by_hour", "walks over up to 720 hours, which it counts itself"),
    ("sent_lately", "walks over seven days of hours, which it counts itself"),
    (
        "drop_counts: periods",
        "looks the oldest periods of each account up, once in a run of retention",
    ),
    ("drop_counts: the oldest message", "reads one row: the beginning of the primary key"),
    ("gauges: queue", "walks over the 100 oldest lanes, which it finds by an index"),
    ("has_operator", "reads the index that holds operators alone"),
    ("identities", "there is a row for each version of a plugin and its settings"),
    ("is_plan_used", "is asked where a plan has no known name, on a connection for lists"),
    ("is_ahead_of", "reads one row: the end of the primary key"),
    ("end_late_nodes", "there are few nodes"),
    ("give_further_time", "there are few nodes"),
    ("is_anybody_in_time", "there are few nodes"),
    ("lease: shares", "there are 64 shares; a database with one node is not asked"),
    ("nodes", "there are few nodes, and the index of leases holds leased messages alone"),
    ("register_node: earlier starts", "there are few nodes"),
    ("register_node: forget", "there are few nodes"),
    ("register_node: others", "there are few nodes"),
    ("renew_node: lasting", "there are few nodes"),
    ("renew_node: shares", "there are 64 shares"),
    ("last_attempts_in", "walks over a bounded number of messages, which it finds by indexes"),
    ("ledger", "walks over entries that it finds one by one by the primary key"),
    ("mend_due_times", "changes the queue after the clock was set back"),
    ("keep_mail: oldest", "reads a bounded number of rows: the beginning of the primary key"),
    ("passed", "reads one row, which it makes of the active webhooks"),
    ("drop_plugin_blobs", "there is a row for each component, after a change of plugins"),
    ("plugin_generations", "there is a row for each slot"),
    ("plugin_nodes", "there is a row for each node"),
    ("report_plugins: others", "there is a row for each node"),
    ("sampled_components", "samples are bounded by their number and their age"),
    ("recover_leases", "the index holds leased messages alone"),
    ("webhook_backlog: how far", "the table has one row"),
    ("webhook_backlog: webhooks", "an account has few webhooks"),
    ("webhooks_in_trouble", "an account has few webhooks; on a connection for lists"),
    (
        "old_signing_keys",
        "reads the keys of sender domains for a health check, on a connection for lists",
    ),
    ("waiting_in", "walks over a bounded number of messages, which it finds by indexes"),
    ("waiting_webhooks: any", "reads one row: the beginning of the index of what waits"),
    ("waiting_webhooks", "walks over webhooks that it finds one by one in the index"),
    ("revision", "the table has one row"),
    ("set_maintenance: revision", "the table has one row"),
];

/// Statements that are put together from parts, and how they find their rows.
const PUT_TOGETHER: [(&str, &str); 17] = [
    ("commit: bodies", "inserts rows"),
    ("commit: debits by their numbers", "inserts rows"),
    ("commit: messages", "inserts rows"),
    ("commit: queue", "inserts rows"),
    ("commit: usage of templates", "inserts rows, or finds them by the primary key"),
    ("commit: usage", "inserts rows, or finds them by the primary key"),
    ("count_sent", "inserts rows, or finds them by the primary key"),
    ("decisions", "by the primary key, within the batch"),
    ("message_row", "by the primary key"),
    ("record events", "inserts rows"),
    ("record_refusals", "inserts rows"),
    ("renew_node: moves", "inserts rows, or finds them by the primary key"),
    ("record_refusals: templates", "inserts rows, or finds them by the primary key"),
    ("settle: attempts", "inserts rows, or finds them by the primary key"),
    ("messages: a batch", "by the index that it names, a bounded number"),
    ("messages", "by the index that it names, within the batch"),
    ("suppressions", "by the primary key, within the batch"),
];

/// How the first line of a second text begins, before the name.
pub(super) const SECOND: &str = "postgres: ";

/// The texts of all statements of the store, by the name in their first line.
pub(super) fn all_statements() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (_, source) in sources() {
        for literal in source.split("\"-- ").skip(1) {
            let text = literal.split('"').next().expect("the end of a literal");
            let text = text.replace("\\n", "\n");
            let name = text.lines().next().unwrap_or_default().to_owned();
            // A second text is for another database.
            if !name.is_empty() && !name.starts_with(SECOND) {
                found.push((name, format!("-- {text}")));
            }
        }
    }
    assert!(found.len() > 150, "{} statements", found.len());
    found
}

/// The source files of the store, without tests.
pub(super) fn sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = std::fs::read_to_string(folder.join("store.rs")).expect("readable");
    let mut sources = vec![("store.rs".to_owned(), text)];
    of_folder(&folder.join("store"), &mut sources);
    sources
}

fn of_folder(folder: &Path, sources: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let is_test = path.components().any(|it| it.as_os_str() == "tests")
            || path.file_name().is_some_and(|it| it == "tests.rs" || it == "meter.rs");
        if path.is_dir() && !is_test {
            of_folder(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") && !is_test {
            let name = path.display().to_string();
            let name = name.rsplit_once("src/store/").expect("a file of the store").1.to_owned();
            sources.push((name, std::fs::read_to_string(&path).expect("readable")));
        }
    }
}

/// The steps of the plan of a statement, which does not depend on its values.
///
/// # Errors
/// It is a piece of a statement.
pub async fn plan(store: &Store, statement: &str) -> Result<Vec<String>, StoreError> {
    let mut explain = sql("EXPLAIN QUERY PLAN ");
    explain.push(statement);
    let number = |text: &str| {
        let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
        text.get(..digits)?.parse::<usize>().ok()
    };
    for _ in 0..statement.split('$').skip(1).filter_map(number).max().unwrap_or_default() {
        explain = explain.bind(None::<i64>);
    }
    let rows = explain.all(&store.db.writer).await?;
    Ok(rows.iter().map(|row| column(row, "detail").expect("text")).collect())
}

#[tokio::test]
async fn every_statement_finds_its_rows_by_an_index_or_says_why_not() {
    let store = Fixture::with_credits(1).await.store;
    let all = all_statements();
    let mut scanning = BTreeSet::new();
    let mut put_together = BTreeSet::new();
    for (name, statement) in &all {
        let Ok(plan) = plan(&store, statement).await else {
            put_together.insert(name.as_str());
            continue;
        };
        // What the statement is given, or makes of nothing.
        let is_given = |step: &str| {
            ["VIRTUAL TABLE", "json_each", "CONSTANT ROW"].iter().any(|it| step.contains(it))
        };
        if plan.iter().any(|step| step.starts_with("SCAN") && !is_given(step)) {
            scanning.insert(name.as_str());
        }
    }
    let named = |list: &[(&'static str, &str)]| list.iter().map(|(name, _)| *name).collect();
    assert_eq!(scanning, named(&SCANS), "statements that walk over a table");
    assert_eq!(put_together, named(&PUT_TOGETHER), "statements without a plan of their own");
}
