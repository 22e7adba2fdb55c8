//! Each row of the fixture, before and after.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use ulid::Ulid;

use super::*;

/// The nouns of the columns that hold identifiers, by their prefix. `id` is its table's own.
const NOUNS: [(&str, &str); 10] = [
    ("account_id", "acc_"),
    ("key_id", "key_"),
    ("domain_id", "dom_"),
    ("template_id", "tpl_"),
    ("message_id", "msg_"),
    ("body_of", "msg_"),
    ("resent_from", "msg_"),
    ("decision_id", "dec_"),
    ("webhook_id", "whk_"),
    ("event_id", "evt_"),
];
const TABLES: [(&str, &str); 8] = [
    ("accounts", "acc_"),
    ("keys", "key_"),
    ("domains", "dom_"),
    ("templates", "tpl_"),
    ("messages", "msg_"),
    ("decisions", "dec_"),
    ("webhooks", "whk_"),
    ("events", "evt_"),
];

/// The fixture before and after.
struct Both {
    earlier: Connection,
    now: Connection,
    _directories: [Schema15Database; 2],
}

impl Both {
    async fn new() -> Self {
        let (before, after) = (Schema15Database::new().await, Schema15Database::new().await);
        let now = after.converted().await;
        Self { earlier: open(&before.file), now, _directories: [before, after] }
    }

    fn columns(&self, table: &str) -> BTreeMap<String, [Option<String>; 2]> {
        let mut columns: BTreeMap<String, [Option<String>; 2]> = BTreeMap::new();
        for (at, connection) in [&self.earlier, &self.now].into_iter().enumerate() {
            let query = format!("SELECT name, type FROM pragma_table_info('{table}')");
            for row in rows(connection, &query) {
                let [Value::Text(name), Value::Text(kind)] = &row[..] else { panic!("{row:?}") };
                columns.entry(name.clone()).or_default()[at] = Some(kind.clone());
            }
        }
        columns
    }

    fn earlier(&self, query: &str) -> Vec<Vec<Value>> {
        rows(&self.earlier, query)
    }

    fn now(&self, query: &str) -> Vec<Vec<Value>> {
        rows(&self.now, query)
    }
}

/// An identifier as it was written.
fn named(value: &Value, prefix: &str) -> Value {
    match value {
        Value::Blob(bytes) => {
            let bytes = bytes.as_slice().try_into().expect("16 bytes");
            Value::Text(format!("{prefix}{}", Ulid::from_bytes(bytes)))
        }
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Text(_) => value.clone(),
    }
}

/// Tables and columns that have another form now; other tests look at them.
const CHANGED: [(&str, &[&str]); 5] = [
    ("accounts", &["last_entry", "facts_revision"]),
    ("ledger", &["messages", "previous"]),
    ("messages", &["period", "debit", "tags", "metadata", "decisions", "decision_id"]),
    ("bodies", &["dictionary", "codec"]),
    ("events", &["subject", "name", "account_id", "type"]),
];

#[tokio::test]
async fn every_row_is_there_under_the_same_identifiers() {
    let both = Both::new().await;
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN
                  ('_sqlx_migrations', 'sqlite_sequence', 'decisions') ORDER BY name";
    let mut compared = 0;
    for table in texts(&both.earlier, tables) {
        let changed = CHANGED.iter().find(|it| it.0 == table).map_or(&[][..], |it| it.1);
        let mut columns = both.columns(&table);
        columns.retain(|name, _| !changed.contains(&name.as_str()));
        assert!(columns.values().all(|kinds| kinds.iter().all(Option::is_some)), "{columns:?}");
        let list: Vec<&str> = columns.keys().map(String::as_str).collect();
        let only = if table == "upkeep" { " WHERE name <> 'event_salt'" } else { "" };
        let query = format!("SELECT {} FROM {table}{only}", list.join(", "));
        let prefixes = columns.iter().map(|(name, [before, after])| {
            let own = TABLES.iter().filter(|_| name == "id").find(|it| it.0 == table);
            let noun = own.or_else(|| NOUNS.iter().find(|it| it.0 == name)).map(|it| it.1);
            (before != after).then(|| noun.expect("a column of identifiers"))
        });
        let prefixes: Vec<Option<&str>> = prefixes.collect();
        let in_words = |row: Vec<Value>| -> Vec<Value> {
            let cells = row.into_iter().zip(&prefixes);
            cells
                .map(|(it, prefix)| prefix.map_or(it.clone(), |prefix| named(&it, prefix)))
                .collect()
        };
        let sorted = |mut rows: Vec<Vec<Value>>| {
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        let before = sorted(both.earlier(&query));
        let after = sorted(both.now(&query).into_iter().map(in_words).collect());
        assert!(!before.is_empty(), "the fixture has nothing in {table}");
        assert_eq!(after, before, "{table}");
        compared += before.len();
    }
    assert!(compared > 130, "{compared} rows");
}

/// Decisions as they are told, by the table of identities.
fn long(both: &Both, short: &str) -> Json {
    let short: Vec<Vec<Json>> = serde_json::from_str(short).expect("a list of lists");
    let long = short.into_iter().map(|decision| {
        let query =
            format!("SELECT kind, identity FROM plugin_identities WHERE id = {}", decision[0]);
        let [Value::Text(kind), Value::Text(identity)] = &both.now(&query)[0][..] else {
            panic!("no identity {}", decision[0])
        };
        let mut long: Json = serde_json::from_str(identity).expect("an object");
        long["kind"] = json!(kind);
        for (name, value) in ["verdict", "reason", "micros", "blank"].iter().zip(&decision[1..]) {
            long[*name] = value.clone();
        }
        long
    });
    long.collect()
}

#[tokio::test]
async fn decisions_say_the_same_in_their_short_form_under_the_same_identifier() {
    let both = Both::new().await;
    let query = "SELECT id, message_id, account_id, outcome, plugins, created_at FROM decisions";
    let mut known: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in both.now(
        "SELECT decision_id, id, account_id, 'accepted', decisions, created_at FROM messages
         UNION ALL SELECT id, NULL, account_id, outcome, plugins, created_at FROM decisions",
    ) {
        let Value::Text(id) = named(&row[0], "dec_") else { panic!("{row:?}") };
        known.insert(id, row);
    }
    let before = both.earlier(query);
    assert_eq!(known.len(), before.len());
    for row in before {
        let [Value::Text(id), Value::Text(plugins)] = [&row[0], &row[4]] else { panic!("{row:?}") };
        let now = known.get(id).expect("it is there");
        assert_eq!(named(&now[1], "msg_"), row[1], "{id}");
        assert_eq!(named(&now[2], "acc_"), row[2], "{id}");
        assert_eq!((&now[3], &now[5]), (&row[3], &row[5]), "{id}");
        let Value::Text(short) = &now[4] else { panic!("{now:?}") };
        let plugins: Json = serde_json::from_str(plugins).expect("JSON");
        assert_eq!(long(&both, short), plugins, "{id}");
    }
    let identities = texts(&both.now, "SELECT identity FROM plugin_identities WHERE kind = 'plan'");
    assert_eq!(identities.len(), 3, "two revisions, and one without its slot: {identities:?}");
    let whole = identities.iter().filter(|it| it.starts_with(r#"{"slot":"plan-policy","name":"#));
    assert_eq!(whole.count(), 2, "{identities:?}");
}

#[tokio::test]
async fn the_ledger_is_the_same_row_by_row_and_says_who_paid_for_what() {
    let both = Both::new().await;
    let sums = "SELECT id, balance,
                (SELECT coalesce(sum(amount), 0) FROM ledger l WHERE l.account_id = a.id)
                FROM accounts a ORDER BY id";
    let after: Vec<Vec<Value>> = both.now(sums);
    for (before, after) in both.earlier(sums).iter().zip(&after) {
        assert_eq!((&before[0], &before[1..]), (&named(&after[0], "acc_"), &after[1..]));
        assert_eq!(before[1], before[2], "the balance is the ledger's sum");
    }
    let paid = "SELECT m.id, m.credits, l.amount, l.messages, l.kind FROM messages m
                JOIN ledger l ON l.id = m.debit AND l.message_id = m.id ORDER BY m.id";
    let paid = both.now(paid);
    let costly = "SELECT id FROM messages WHERE credits > 0 ORDER BY id";
    assert_eq!(paid.len(), both.earlier(costly).len());
    for row in paid {
        let [_, Value::Integer(credits), amount, messages, kind] = &row[..] else {
            panic!("{row:?}")
        };
        assert_eq!((amount, messages), (&Value::Integer(-credits), &Value::Integer(1)));
        assert_eq!(kind, &Value::Text("debit".to_owned()));
    }
    // From the newest row backwards: each row of an account, once, in the order of their numbers.
    let walked = "WITH RECURSIVE walk (account_id, id) AS (
                      SELECT id, last_entry FROM accounts WHERE last_entry IS NOT NULL
                      UNION ALL SELECT w.account_id, l.previous FROM walk w JOIN ledger l ON l.id = w.id
                      WHERE l.previous IS NOT NULL)
                  SELECT w.account_id, w.id FROM walk w JOIN ledger l
                  ON l.id = w.id AND l.account_id = w.account_id ORDER BY w.id";
    let walked: Vec<Vec<Value>> =
        both.now(walked).iter().map(|row| vec![named(&row[0], "acc_"), row[1].clone()]).collect();
    assert_eq!(walked, both.earlier("SELECT account_id, id FROM ledger ORDER BY id"));
}

#[tokio::test]
async fn events_are_about_the_same_and_no_number_is_given_twice() {
    let both = Both::new().await;
    let after =
        both.now("SELECT sequence, subject, name, account_id, type FROM events ORDER BY sequence");
    let before =
        both.earlier("SELECT sequence, subject, account_id, type FROM events ORDER BY sequence");
    assert_eq!(after.len(), before.len());
    let mut kinds = BTreeMap::new();
    for (before, after) in before.iter().zip(&after) {
        let [sequence, subject @ Value::Text(words), account, Value::Text(kind)] = &before[..]
        else {
            panic!("{before:?}")
        };
        assert_eq!(&after[0], sequence);
        let (prefix, _) = words.split_at(4);
        let now = if kind.starts_with("plugin.") { &after[2] } else { &named(&after[1], prefix) };
        assert_eq!(now, subject);
        assert!(after[1] == Value::Null || after[2] == Value::Null, "{after:?}");
        let no_account = Value::Text(String::new());
        let account = if *account == no_account { &Value::Null } else { account };
        assert_eq!(&named(&after[3], "acc_"), account);
        let Value::Integer(number) = after[4] else { panic!("{after:?}") };
        assert_eq!(kinds.entry(kind.clone()).or_insert(number), &number);
    }
    assert!(kinds.len() >= 11, "{kinds:?}");
    both.now
        .execute_batch("INSERT INTO events (type, detail, created_at) VALUES (2, '', 1)")
        .expect("inserted");
    assert_eq!(texts(&both.now, "SELECT cast(max(sequence) AS TEXT) FROM events"), ["81"]);
}

#[tokio::test]
async fn lists_and_counts_begin_with_what_there_is() {
    let both = Both::new().await;
    let counted = |query| texts(&both.now, query);
    let uncounted = "SELECT hex(m.id) FROM messages m WHERE NOT EXISTS
                     (SELECT 1 FROM sent s WHERE s.account_id = m.account_id AND s.period = m.period
                        AND s.state = 'accepted')";
    assert!(counted(uncounted).is_empty());
    let listed = "SELECT state || ' ' || sum(changes) FROM sent GROUP BY state ORDER BY state";
    assert_eq!(
        counted(listed),
        [
            "accepted 13",
            "bounced 2",
            "canceled 1",
            "deferred 1",
            "delivered 1",
            "relayed 6",
            "scheduled 2",
            "suppressed 1"
        ]
    );
    let periods = "SELECT hex(account_id) || period FROM sent WHERE state = 'accepted' ORDER BY 1";
    assert_eq!(
        counted("SELECT hex(account_id) || period FROM periods ORDER BY 1"),
        counted(periods)
    );
    assert_eq!(counted("SELECT name || ' ' || value FROM totals"), ["queue 2"]);
    let hour = "SELECT DISTINCT cast(period - created_at / 3600000 AS TEXT) FROM messages";
    assert_eq!(counted(hour), ["0"]);
    let forms = "SELECT coalesce(tags, '-') || coalesce(metadata, '-') FROM messages
                 WHERE recipient IN ('ada@recipient.example', 'one@recipient.example') ORDER BY 1";
    let whole = r#"["code","Über"]{"order":"7","note":"it's \"quoted\""}"#;
    assert_eq!(counted(forms), ["--", whole, whole]);
}

#[tokio::test]
async fn the_new_file_has_all_tables_indexes_and_triggers_of_a_new_one() {
    let both = Both::new().await;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("new.db");
    migrations::run(&migrations::BASELINE, &options(&file)).await.expect("made");
    let schema = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
    assert_eq!(texts(&both.now, schema), texts(&open(&file), schema));
    let applied = "SELECT version || hex(checksum) || success FROM _sqlx_migrations";
    assert_eq!(texts(&both.now, applied), texts(&open(&file), applied));
    assert!(both.now("PRAGMA foreign_key_check").is_empty());
    assert_eq!(rows(&both.now, "PRAGMA auto_vacuum"), [[Value::Integer(2)]]);
}
