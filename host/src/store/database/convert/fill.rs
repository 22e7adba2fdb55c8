//! What the new file's tables are made of. A column that has another type is an identifier: it was a text.

use std::path::Path;

use rusqlite::Connection;

use super::functions::Functions;
use crate::store::error::ConversionError;

/// For a file that is thrown away where it does not become whole.
pub const UNSAFE: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    PRAGMA temp_store = FILE; PRAGMA cache_size = -32768;";

/// A table whose rows are not simply those of the old one of its name. `o` is the old row, of which all other
/// columns are copied.
struct Source {
    table: &'static str,
    columns: &'static [(&'static str, &'static str)],
    /// What is joined to the old rows.
    join: &'static str,
    /// Which of them are taken.
    only: &'static str,
}

const SOURCES: [Source; 6] = [
    Source {
        table: "accounts",
        columns: &[(
            "last_entry",
            "(SELECT max(l.id) FROM main.ledger l WHERE l.account_id = o.id)",
        )],
        join: "",
        only: "",
    },
    Source {
        table: "ledger",
        columns: &[
            ("messages", "CASE o.kind WHEN 'debit' THEN 1 END"),
            (
                "previous",
                "(SELECT max(l.id) FROM main.ledger l WHERE l.account_id = o.account_id AND l.id < o.id)",
            ),
        ],
        join: "",
        only: "",
    },
    Source {
        table: "messages",
        columns: &[
            ("period", "period(id(o.id, 'id'))"),
            ("debit", "l.id"),
            ("tags", "nullif(o.tags, '[]')"),
            ("metadata", "nullif(o.metadata, '{}')"),
            ("decisions", "coalesce(short(d.plugins, d.id), '[]')"),
            ("decision_id", "id(d.id, 'decision_id')"),
        ],
        // Several decisions of one message are of a crash of an early version: the last one was shown.
        join: "LEFT JOIN main.ledger l ON l.message_id = o.id AND l.kind = 'debit'
               LEFT JOIN main.decisions d
                   ON d.id = (SELECT max(id) FROM main.decisions WHERE message_id = o.id)",
        only: "",
    },
    Source { table: "bodies", columns: &[("dictionary", "NULL")], join: "", only: "" },
    Source {
        table: "events",
        columns: &[
            ("subject", "subject(o.subject)"),
            ("name", "CASE WHEN subject(o.subject) IS NULL THEN o.subject END"),
            // The server's had an empty one.
            ("account_id", "id(nullif(o.account_id, ''), 'account_id')"),
            ("type", "event_type(o.type)"),
        ],
        join: "",
        only: "",
    },
    Source {
        table: "decisions",
        columns: &[("plugins", "short(o.plugins, o.id)")],
        join: "",
        only: "WHERE o.message_id IS NULL",
    },
];

/// Rows that a new file begins with, and that the old file has as well.
const FIRST_ROWS: &str =
    "DELETE FROM new.revision; DELETE FROM new.probe; DELETE FROM new.webhook_cursor;";

/// What is counted, in this order.
const COUNTED: &str = "
    INSERT INTO new.sent (period, state, account_id, changes)
        SELECT period, 'accepted', account_id, count(*) FROM new.messages GROUP BY period, account_id;
    INSERT INTO new.sent (period, state, account_id, changes)
        SELECT period(id(subject, 'subject')) AS period, substr(type, 9) AS state, id(account_id, 'account_id'),
               count(*)
        FROM main.events
        WHERE type IN ('message.scheduled', 'message.delivered', 'message.relayed', 'message.deferred',
                       'message.bounced', 'message.failed', 'message.suppressed', 'message.canceled')
        GROUP BY period, state, account_id;
    INSERT INTO new.periods (account_id, period)
        SELECT account_id, period FROM new.sent WHERE state = 'accepted' ORDER BY account_id, period;
    UPDATE new.totals SET value = (SELECT count(*) FROM main.queue) WHERE name = 'queue';
    -- The number of a row that is gone is given to no other one.
    DELETE FROM new.sqlite_sequence;
    INSERT INTO new.sqlite_sequence (name, seq)
        SELECT name, seq FROM main.sqlite_sequence WHERE name IN ('events', 'ledger');";

/// What must be the same before and after.
const SUMS: [(&str, &str); 3] = [
    ("the sum of all balances", "SELECT coalesce(sum(balance), 0) FROM accounts"),
    ("the sum of the ledger", "SELECT coalesce(sum(amount), 0) FROM ledger"),
    ("the credits of all messages", "SELECT coalesce(sum(credits), 0) FROM messages"),
];

/// A new file with all of its rows, and what it still lacks.
#[derive(Debug)]
pub struct Filled {
    pub later: Vec<Later>,
    /// What the new file must answer, each with what it is.
    expected: Vec<(String, String, i64)>,
}

/// An index or a trigger, made when the rows are there.
#[derive(Debug)]
pub struct Later {
    pub kind: String,
    pub name: String,
    pub sql: String,
}

/// Fills the tables of a new file from the old one, which is open.
pub fn fill(old: &Connection, new: &Path) -> Result<Filled, ConversionError> {
    let functions = Functions::register(old)?;
    old.execute("ATTACH $1 AS new", [new.to_string_lossy()])?;
    old.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE;
         PRAGMA main.cache_size = -8192; PRAGMA new.cache_size = -32768;
         PRAGMA new.journal_mode = OFF; PRAGMA new.synchronous = OFF;",
    )?;
    let later = take_off(old)?;
    old.execute_batch(FIRST_ROWS)?;
    let mut expected = Vec::new();
    for table in tables(old)? {
        let source = SOURCES.iter().find(|it| it.table == table);
        let only = source.map_or("", |it| it.only);
        let rows = number(old, &format!("SELECT count(*) FROM main.{table} o {only}"))?;
        let first = number(old, &format!("SELECT count(*) FROM new.{table}"))?;
        functions.next_table(&table, rows);
        let filling = filling(old, &table, source)?;
        old.execute(&filling, []).map_err(|error| functions.cause(error))?;
        let count = format!("SELECT count(*) FROM {table}");
        expected.push((format!("the rows of {table}"), count, first + rows));
    }
    functions.next_table("sent", 0);
    old.execute_batch(COUNTED).map_err(|error| functions.cause(error))?;
    functions.write_identities(old)?;
    for (what, sum) in SUMS {
        expected.push((what.to_owned(), sum.to_owned(), number(old, sum)?));
    }
    old.execute_batch("DETACH new")?;
    Ok(Filled { later, expected })
}

/// Takes indexes and triggers off the new file: rows come faster without the former, and without the latter they
/// stay as they are. Answers how to make them.
fn take_off(old: &Connection) -> Result<Vec<Later>, ConversionError> {
    let mut all = old.prepare(
        "SELECT type, name, sql FROM new.sqlite_schema
         WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type, rowid",
    )?;
    let all = all.query_map([], |row| {
        Ok(Later { kind: row.get("type")?, name: row.get("name")?, sql: row.get("sql")? })
    })?;
    let all = all.collect::<Result<Vec<_>, _>>()?;
    for Later { kind, name, .. } in &all {
        old.execute_batch(&format!("DROP {kind} new.{name}"))?;
    }
    Ok(all)
}

/// The tables that both files have.
fn tables(old: &Connection) -> Result<Vec<String>, ConversionError> {
    let mut all = old.prepare(
        "SELECT name, name IN (SELECT name FROM new.sqlite_schema WHERE type = 'table') AS stays
         FROM main.sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> '_sqlx_migrations'
         ORDER BY rowid",
    )?;
    let all = all.query_map([], |row| Ok((row.get("name")?, row.get("stays")?)))?;
    let mut tables = Vec::new();
    for found in all {
        match found? {
            (name, true) => tables.push(name),
            (name, false) => tracing::warn!(
                table = name,
                "a table that is none of Waxwing's is not \
                taken over into the converted database"
            ),
        }
    }
    Ok(tables)
}

/// The statement that fills a table.
fn filling(
    old: &Connection,
    table: &str,
    source: Option<&Source>,
) -> Result<String, ConversionError> {
    let mut columns = old.prepare(
        "SELECT n.name, n.type = o.type AS same FROM pragma_table_info($1, 'new') n
         LEFT JOIN pragma_table_info($1, 'main') o ON o.name = n.name ORDER BY n.cid",
    )?;
    let columns = columns
        .query_map([table], |row| Ok((row.get("name")?, row.get::<_, Option<bool>>("same")?)))?;
    let (mut into, mut from) = (Vec::new(), Vec::new());
    for column in columns {
        let (name, same): (String, _) = column?;
        let made = source.and_then(|it| it.columns.iter().find(|(column, _)| *column == name));
        let value = match (made, same) {
            (Some((_, made)), _) => (*made).to_owned(),
            (None, Some(true)) => format!("o.{name}"),
            (None, Some(false)) => format!("id(o.{name}, '{name}')"),
            // Later versions alone have it; it stays empty.
            (None, None) => continue,
        };
        from.push(if from.is_empty() { format!("row({value})") } else { value });
        into.push(name);
    }
    let (join, only) = source.map_or(("", ""), |it| (it.join, it.only));
    Ok(format!(
        "INSERT INTO new.{table} ({}) SELECT {} FROM main.{table} o {join} {only}",
        into.join(", "),
        from.join(", ")
    ))
}

fn number(connection: &Connection, query: &str) -> rusqlite::Result<i64> {
    connection.query_row(query, [], |row| row.get(0))
}

impl Filled {
    /// Whether the new file, opened by itself, holds what the old one held.
    pub fn compare(&self, new: &Connection) -> Result<(), ConversionError> {
        for (what, query, before) in &self.expected {
            let after = number(new, query)?;
            if after != *before {
                let what = what.clone();
                return Err(ConversionError::Unequal { what, before: *before, after });
            }
        }
        Ok(())
    }
}
