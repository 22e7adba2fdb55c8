//! What SQLite asks this program for while it copies rows: identifiers as 16 bytes, decisions in short form.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value as Stored, ValueRef};
use rusqlite::{Connection, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ulid::Ulid;

use crate::id::{Identifier, MessageId};
use crate::store::error::ConversionError;
use crate::store::event_kind::EventKind;

/// How often progress is logged.
pub const TELL_EVERY: Duration = Duration::from_secs(5);
/// The clock is read once in so many rows.
const ROWS_BETWEEN_LOOKS: i64 = 256;
/// Characters that an error shows of a value.
const SHOWN: usize = 60;

/// The functions of one connection, with what they have seen.
pub struct Functions(Arc<Mutex<Seen>>);

struct Seen {
    table: String,
    rows: i64,
    of: i64,
    logged_at: Instant,
    fault: Option<ConversionError>,
    /// Those that have decided; their numbers begin with 1.
    components: Vec<Component>,
}

/// Which component decided.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Component {
    #[serde(skip)]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<String>,
    name: String,
    version: String,
    digest: String,
    settings_revision: u32,
}

/// A decision as earlier versions wrote it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Decision {
    kind: String,
    slot: Option<String>,
    name: String,
    version: String,
    digest: String,
    settings_revision: u32,
    verdict: String,
    reason: Option<String>,
    micros: u64,
    #[serde(default)]
    blank: Vec<String>,
}

/// SQLite only learns that there is a value that no earlier version wrote.
#[derive(Debug, thiserror::Error)]
#[error("a value cannot be converted")]
struct Unreadable;

/// What a function answers; else the column and the value that is wrong there.
type Answer = Result<Stored, (String, String)>;

impl Functions {
    /// - `row(value)`: the value; counts the rows of a table.
    /// - `id(text, column)`: an identifier as 16 bytes, or null; another text ends the conversion.
    /// - `subject(text)`: the same, but null for another text.
    /// - `period(id)`: the whole hour in which an identifier was made.
    /// - `event_type(text)`: its number.
    /// - `short(plugins, id)`: decisions in short form, those of the record `id`.
    pub fn register(connection: &Connection) -> Result<Self, Error> {
        let seen = Seen {
            table: String::new(),
            rows: 0,
            of: 0,
            logged_at: Instant::now(),
            fault: None,
            components: Vec::new(),
        };
        let functions = Self(Arc::new(Mutex::new(seen)));
        functions.define(connection, "row", 1, |seen, context| {
            seen.count();
            context.get(0).map_err(|_| (String::new(), shown(context.get_raw(0))))
        })?;
        functions.define(connection, "id", 2, |_, context| {
            let text = context.get_raw(0);
            if text == ValueRef::Null {
                return Ok(Stored::Null);
            }
            read_id(text).ok_or_else(|| (shown(context.get_raw(1)), shown(text)))
        })?;
        functions.define(connection, "subject", 1, |_, context| {
            Ok(read_id(context.get_raw(0)).unwrap_or(Stored::Null))
        })?;
        functions.define(connection, "period", 1, |_, context| period(context.get_raw(0)))?;
        functions
            .define(connection, "event_type", 1, |_, context| event_type(context.get_raw(0)))?;
        functions.define(connection, "short", 2, |seen, context| {
            if context.get_raw(0) == ValueRef::Null {
                return Ok(Stored::Null);
            }
            let short = context.get_raw(0).as_str().ok().and_then(|it| seen.shorten(it));
            // The decisions hold words of senders; their identifier finds them.
            short.map(Stored::Text).ok_or_else(|| ("plugins".to_owned(), shown(context.get_raw(1))))
        })?;
        Ok(functions)
    }

    fn define(
        &self,
        connection: &Connection,
        name: &str,
        arguments: i32,
        function: fn(&mut Seen, &Context<'_>) -> Answer,
    ) -> Result<(), Error> {
        let seen = Arc::clone(&self.0);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        connection.create_scalar_function(name, arguments, flags, move |context| {
            let mut seen = locked(&seen);
            function(&mut seen, context).map_err(|(column, value)| {
                let table = seen.table.clone();
                seen.fault = Some(ConversionError::Value { table, column, value });
                Error::UserFunctionError(Box::new(Unreadable))
            })
        })
    }

    /// The next table is filled, with so many rows.
    pub fn next_table(&self, table: &str, of: i64) {
        let mut seen = locked(&self.0);
        table.clone_into(&mut seen.table);
        (seen.rows, seen.of) = (0, of);
    }

    /// Why a statement failed: a function knows more than SQLite.
    pub fn cause(&self, error: Error) -> ConversionError {
        locked(&self.0).fault.take().unwrap_or(ConversionError::Database(error))
    }

    /// Writes down which components have decided.
    pub fn write_identities(&self, connection: &Connection) -> Result<(), Error> {
        let mut insert = connection.prepare(
            "INSERT INTO new.plugin_identities (id, kind, identity) VALUES ($1, $2, $3)",
        )?;
        for (number, component) in (1_i64..).zip(&locked(&self.0).components) {
            insert.execute((number, &component.kind, json_text(component)))?;
        }
        Ok(())
    }
}

impl Seen {
    fn count(&mut self) {
        self.rows += 1;
        if self.rows % ROWS_BETWEEN_LOOKS == 0 && self.logged_at.elapsed() >= TELL_EVERY {
            self.logged_at = Instant::now();
            let (table, rows, of) = (&self.table, self.rows, self.of);
            tracing::info!(table, rows, total = of, "converting the database");
        }
    }

    /// Decisions as `plugin_identities` says; none where they are not what an earlier version wrote.
    fn shorten(&mut self, plugins: &str) -> Option<String> {
        let decisions: Vec<Decision> = serde_json::from_str(plugins).ok()?;
        let short: Vec<Value> = decisions.into_iter().map(|it| self.shorten_one(it)).collect();
        Some(json_text(&short))
    }

    fn shorten_one(&mut self, decision: Decision) -> Value {
        let Decision { kind, slot, name, version, digest, settings_revision, .. } = decision;
        let component = Component { kind, slot, name, version, digest, settings_revision };
        let known = self.components.iter().rposition(|it| *it == component);
        let place = known.unwrap_or_else(|| {
            self.components.push(component);
            self.components.len() - 1
        });
        let (number, verdict, reason) = (place + 1, decision.verdict, decision.reason);
        if decision.blank.is_empty() {
            json!([number, verdict, reason, decision.micros])
        } else {
            json!([number, verdict, reason, decision.micros, decision.blank])
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are JSON")
}

/// An identifier without its prefix. Only what is read back as it stands is one.
fn read_id(value: ValueRef<'_>) -> Option<Stored> {
    let (prefix, text) = value.as_str().ok()?.split_once('_')?;
    let id = Ulid::from_string(text).ok()?;
    let is_whole = prefix.len() == 3 && id.to_string() == text;
    is_whole.then(|| Stored::Blob(id.to_bytes().to_vec()))
}

fn period(id: ValueRef<'_>) -> Answer {
    let bytes = id.as_blob().ok().and_then(|id| id.try_into().ok());
    let period = bytes.map(|it| Stored::Integer(MessageId::from_bytes(it).period()));
    period.ok_or_else(|| ("id".to_owned(), shown(id)))
}

fn event_type(name: ValueRef<'_>) -> Answer {
    let kind = name.as_str().ok().and_then(EventKind::from_name);
    let number = kind.map(|it| Stored::Integer(it.number()));
    number.ok_or_else(|| ("type".to_owned(), shown(name)))
}

/// The beginning of a value, for an error.
fn shown(value: ValueRef<'_>) -> String {
    let text = value.as_str().map_or_else(|_| format!("{value:?}"), ToOwned::to_owned);
    text.chars().take(SHOWN).collect()
}
