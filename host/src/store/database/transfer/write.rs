//! Writes rows into the database that is filled. Its triggers and foreign keys rest meanwhile: the rows are what they have
//! made already, and tables come one after the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::mem;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{OpenFlags, TransactionBehavior, params_from_iter};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Arguments as _, AssertSqlSafe, Connection as _, Error, Postgres, Row as _};

use super::super::inline::waiting;
use super::super::postgres;
use super::marks::{FILLED, Filling};
use super::read::{Identity, identities};
use super::schema::{Kind, Table, quoted};
use super::value::{Record, Value};
use crate::store::error::{DriverError, TransferError};
use crate::store::{Place, StoreError};

/// How long another process that writes may hold a file up.
const LOCK_WAIT: Duration = Duration::from_secs(30);
const PRAGMAS: &str =
    "PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;";
/// One move at a time, for as long as the session lasts.
const ALONE: &str = "SELECT pg_try_advisory_lock(7023767254913050)";
/// What the triggers of the queue count, which rested.
const TOTALS: [&str; 2] = [
    "DELETE FROM totals WHERE name = 'queue'",
    "INSERT INTO totals (name, value) SELECT 'queue', count(*) FROM queue",
];
const NOTE: &str = "INSERT INTO upkeep (name, value) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// The connection that writes.
#[derive(Debug)]
pub enum Writer {
    File(Box<rusqlite::Connection>),
    Server(PgConnection),
}

/// Rows of one table that are written together.
#[derive(Debug, Default)]
pub struct Changes {
    pub removed: Vec<Record>,
    pub added: Vec<Record>,
}

impl Writer {
    pub async fn open(place: &Place) -> Result<Self, StoreError> {
        match place {
            Place::File(file) => {
                let opened =
                    waiting(|| open(file)).map_err(StoreError::during("transfer: open"))?;
                Ok(Self::File(Box::new(opened)))
            }
            Place::Server(url) => {
                let (mut connection, name) = Box::pin(postgres::session(url)).await?;
                let alone = sqlx::query_scalar(ALONE).fetch_one(&mut connection).await;
                if !alone.map_err(StoreError::during("transfer: open"))? {
                    return Err(TransferError::Another { name }.into());
                }
                Ok(Self::Server(connection))
            }
        }
    }

    /// Marks the database as one that is being filled from `from`, and lets triggers and foreign keys rest.
    pub async fn prepare(&mut self, from: &str, tables: &[Table]) -> Result<(), StoreError> {
        let prepared = match self {
            Self::File(connection) => {
                let filling = Filling { from: from.to_owned(), foreign_keys: Vec::new() };
                let noted = waiting(|| connection.execute(NOTE, (FILLED, to_json(&filling))));
                noted.map(|_| ()).map_err(DriverError::from)
            }
            Self::Server(connection) => {
                rest(connection, from, tables).await.map_err(DriverError::from)
            }
        };
        prepared.map_err(StoreError::during("transfer: prepare"))
    }

    /// Writes the changes, and forgets them. What was removed comes back where it is added.
    pub async fn write(&mut self, table: &Table, changes: &mut Changes) -> Result<(), StoreError> {
        let changes = mem::take(changes);
        let written = match self {
            Self::File(connection) => {
                let written = waiting(|| write_to_file(connection, table, &changes));
                written.map_err(DriverError::from)
            }
            Self::Server(connection) => {
                write_to_server(connection, table, changes).await.map_err(DriverError::from)
            }
        };
        written.map_err(StoreError::during("transfer: write"))
    }

    /// Removes all rows of a table.
    pub async fn empty(&mut self, table: &Table) -> Result<(), StoreError> {
        self.say(format!("DELETE FROM {}", quoted(&table.name))).await
    }

    /// Lets triggers and foreign keys work again, and goes on with the numbers of rows behind the greatest ones that were
    /// given.
    pub async fn finish(
        &mut self,
        tables: &[Table],
        numbers: &BTreeMap<String, i64>,
    ) -> Result<(), StoreError> {
        let finished = match self {
            Self::File(connection) => {
                waiting(|| number_file(connection, numbers)).map_err(DriverError::from)
            }
            Self::Server(connection) => {
                work_again(connection, tables, numbers).await.map_err(DriverError::from)
            }
        };
        finished.map_err(StoreError::during("transfer: finish"))?;
        for statement in TOTALS {
            self.say(statement.to_owned()).await?;
        }
        Ok(())
    }

    /// Takes the mark off: a server may start with the database.
    pub async fn release(&mut self) -> Result<(), StoreError> {
        self.say(format!("DELETE FROM upkeep WHERE name = '{FILLED}'")).await
    }

    async fn say(&mut self, statement: String) -> Result<(), StoreError> {
        let said = match self {
            Self::File(connection) => {
                waiting(|| connection.execute_batch(&statement)).map_err(DriverError::from)
            }
            Self::Server(connection) => {
                let said = sqlx::query(AssertSqlSafe(statement)).execute(connection).await;
                said.map(|_| ()).map_err(DriverError::from)
            }
        };
        said.map_err(StoreError::during("transfer: write"))
    }

    pub async fn close(self) -> Result<(), StoreError> {
        let closed = match self {
            Self::File(connection) => {
                waiting(|| connection.close()).map_err(|(_, error)| DriverError::from(error))
            }
            Self::Server(connection) => connection.close().await.map_err(DriverError::from),
        };
        closed.map_err(StoreError::during("transfer: close"))
    }
}

fn open(file: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.execute_batch(PRAGMAS)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    Ok(connection)
}

fn to_json(filling: &Filling) -> String {
    serde_json::to_string(filling).expect("texts are JSON")
}

fn write_to_file(
    connection: &mut rusqlite::Connection,
    table: &Table,
    changes: &Changes,
) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let name = quoted(&table.name);
    if !changes.removed.is_empty() {
        let is_it = |it: &usize| format!("{} = ?", table.in_file(*it));
        let is_it: Vec<String> = table.key.iter().map(is_it).collect();
        let remove = format!("DELETE FROM {name} WHERE {}", is_it.join(" AND "));
        let mut remove = tx.prepare_cached(&remove)?;
        for record in &changes.removed {
            remove.execute(params_from_iter(table.key.iter().map(|it| &record[*it])))?;
        }
    }
    if !changes.added.is_empty() {
        let columns: Vec<String> = (0..table.columns.len()).map(|it| table.in_file(it)).collect();
        let values = vec!["?"; columns.len()].join(", ");
        let add = format!("INSERT INTO {name} ({}) VALUES ({values})", columns.join(", "));
        let mut add = tx.prepare_cached(&add)?;
        for record in &changes.added {
            add.execute(params_from_iter(record))?;
        }
    }
    tx.commit()
}

async fn write_to_server(
    connection: &mut PgConnection,
    table: &Table,
    changes: Changes,
) -> Result<(), Error> {
    let name = quoted(&table.name);
    let numbered =
        |most: usize| (1..=most).map(|it| format!("${it}")).collect::<Vec<_>>().join(", ");
    if !changes.removed.is_empty() {
        let keys = |it: usize| format!("k{it}");
        let named: Vec<String> = (0..table.key.len()).map(keys).collect();
        let is_it = |(it, of): (&usize, &String)| format!("t.{} = gone.{of}", table.in_server(*it));
        let is_it: Vec<String> = table.key.iter().zip(&named).map(is_it).collect();
        let remove = format!(
            "DELETE FROM {name} t USING unnest({}) AS gone ({}) WHERE {}",
            numbered(named.len()),
            named.join(", "),
            is_it.join(" AND ")
        );
        let values = lists(table, table.key.iter().copied(), changes.removed);
        let remove = sqlx::query_with::<Postgres, _>(AssertSqlSafe(remove), values);
        remove.execute(&mut *connection).await?;
    }
    if !changes.added.is_empty() {
        let columns: Vec<String> = (0..table.columns.len()).map(|it| table.in_server(it)).collect();
        let add = format!(
            "INSERT INTO {name} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest({})",
            columns.join(", "),
            numbered(columns.len())
        );
        let values = lists(table, 0..columns.len(), changes.added);
        let add = sqlx::query_with::<Postgres, _>(AssertSqlSafe(add), values);
        add.execute(&mut *connection).await?;
    }
    Ok(())
}

/// A list for each of these columns.
fn lists(
    table: &Table,
    columns: impl Iterator<Item = usize>,
    mut records: Vec<Record>,
) -> PgArguments {
    let mut arguments = PgArguments::default();
    for column in columns {
        let values = records.iter_mut().map(|it| mem::replace(&mut it[column], Value::Null));
        let added = match table.columns[column].kind {
            Kind::Integer => arguments.add(values.map(|it| integer(&it)).collect::<Vec<_>>()),
            Kind::Flag => {
                let flags = values.map(|it| integer(&it).map(|it| it != 0));
                arguments.add(flags.collect::<Vec<_>>())
            }
            Kind::Text => arguments.add(values.map(text).collect::<Vec<_>>()),
            Kind::Bytes => arguments.add(values.map(octets).collect::<Vec<_>>()),
        };
        added.expect("the driver encodes these kinds without a failure");
    }
    arguments
}

/// A value is of its column's kind, or null: so it was read.
fn integer(value: &Value) -> Option<i64> {
    if let Value::Integer(it) = value { Some(*it) } else { None }
}

fn text(value: Value) -> Option<String> {
    if let Value::Text(it) = value { Some(it) } else { None }
}

fn octets(value: Value) -> Option<Vec<u8>> {
    if let Value::Bytes(it) = value { Some(it) } else { None }
}

/// On a server triggers are its owner's to switch off; foreign keys are the system's, so they go, and the mark keeps how to
/// make them again. A move that was interrupted while it finished begins here once more.
async fn rest(connection: &mut PgConnection, from: &str, tables: &[Table]) -> Result<(), Error> {
    let mut tx = connection.begin().await?;
    let keys = sqlx::query(
        "SELECT CAST(CAST(conrelid AS REGCLASS) AS TEXT) AS in_table, quote_ident(conname) AS name,
                pg_get_constraintdef(oid) AS definition
         FROM pg_constraint
         WHERE contype = 'f' AND conrelid IN (SELECT c.oid FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema())
         ORDER BY conrelid, conname",
    );
    let mut filling = Filling { from: from.to_owned(), ..noted(&mut tx).await? };
    let mut statements = String::new();
    let mut found = Vec::new();
    for key in keys.fetch_all(&mut *tx).await? {
        let of: String = key.try_get("in_table")?;
        let name: String = key.try_get("name")?;
        let definition: String = key.try_get("definition")?;
        found.push(format!("ALTER TABLE {of} ADD CONSTRAINT {name} {definition}"));
        add_line(&mut statements, &format!("ALTER TABLE {of} DROP CONSTRAINT {name}"));
    }
    if !found.is_empty() {
        filling.foreign_keys = found;
    }
    for table in tables {
        let name = quoted(&table.name);
        add_line(&mut statements, &format!("ALTER TABLE {name} DISABLE TRIGGER USER"));
    }
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut *tx).await?;
    let note = sqlx::query(NOTE).bind(FILLED).bind(to_json(&filling));
    note.execute(&mut *tx).await?;
    tx.commit().await
}

async fn noted(connection: &mut PgConnection) -> Result<Filling, Error> {
    let noted = sqlx::query_scalar("SELECT value FROM upkeep WHERE name = $1").bind(FILLED);
    let noted: Option<String> = noted.fetch_optional(connection).await?;
    let Some(noted) = noted else { return Ok(Filling::default()) };
    serde_json::from_str(&noted).map_err(|error| Error::Decode(error.into()))
}

fn add_line(statements: &mut String, statement: &str) {
    writeln!(statements, "{statement};").expect("a string takes everything");
}

async fn work_again(
    connection: &mut PgConnection,
    tables: &[Table],
    numbers: &BTreeMap<String, i64>,
) -> Result<(), Error> {
    let mut tx = connection.begin().await?;
    let mut statements = String::new();
    for key in noted(&mut tx).await?.foreign_keys {
        add_line(&mut statements, &key);
    }
    for table in tables {
        let name = quoted(&table.name);
        add_line(&mut statements, &format!("ALTER TABLE {name} ENABLE TRIGGER USER"));
    }
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut *tx).await?;
    for Identity { table, column, sequence } in identities(&mut tx).await? {
        let (name, column) = (quoted(&table), quoted(&column));
        let go_on = format!(
            "SELECT setval(CAST(CAST($1 AS TEXT) AS REGCLASS), greatest(g.number, 1), g.number > 0)
             FROM (SELECT greatest(CAST($2 AS BIGINT), (SELECT max({column}) FROM {name})) AS number) g"
        );
        let given = numbers.get(&table).copied().unwrap_or_default();
        let go_on = sqlx::query(AssertSqlSafe(go_on)).bind(sequence).bind(given);
        go_on.execute(&mut *tx).await?;
    }
    tx.commit().await?;
    // Without it the planner would take the tables for empty ones until autovacuum has looked.
    sqlx::raw_sql("ANALYZE").execute(connection).await.map(|_| ())
}

/// SQLite keeps the greatest number of a table where it may be given to no other row; the rows themselves have raised it.
fn number_file(
    connection: &mut rusqlite::Connection,
    numbers: &BTreeMap<String, i64>,
) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (table, given) in numbers {
        let raise = "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2";
        tx.execute(raise, (table, given))?;
        tx.execute(
            "INSERT INTO sqlite_sequence (name, seq)
             SELECT name, ?2 FROM sqlite_schema
             WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%'
               AND name NOT IN (SELECT name FROM sqlite_sequence)",
            (table, given),
        )?;
    }
    tx.commit()
}
