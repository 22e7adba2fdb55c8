//! Reads a database row by row, in the order of the keys, on a connection of its own that changes nothing.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Error, Postgres, Sqlite};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};

use super::super::connections::options;
use super::super::{migrations, postgres};
use super::marks::{FILLED, MOVED};
use super::schema::{self, Kind, Schema, Table, quoted};
use super::value::{Record, Value};
use crate::store::{Place, StoreError};

/// A table may take as long as it takes, also where the database has a limit for everybody.
const READS: &str = "SET default_transaction_read_only = on; SET statement_timeout = 0";

/// A connection that reads.
#[derive(Debug)]
pub enum Reader {
    File(SqliteConnection),
    Server(PgConnection),
}

/// The rows of a table, in the order of their keys.
pub type Records<'c> = BoxStream<'c, Result<Record, StoreError>>;

/// A column that a server numbers by itself.
#[derive(Debug)]
pub struct Identity {
    pub table: String,
    pub column: String,
    pub sequence: String,
}

impl Reader {
    /// Opens what exists.
    pub async fn open(place: &Place) -> Result<Self, StoreError> {
        let during = || StoreError::during("transfer: open");
        match place {
            Place::File(file) => {
                let options = options(file).read_only(true).create_if_missing(false);
                Box::pin(options.connect()).await.map(Self::File).map_err(during())
            }
            Place::Server(url) => {
                let (mut connection, _) = Box::pin(postgres::session(url)).await?;
                connection.execute(READS).await.map_err(during())?;
                Ok(Self::Server(connection))
            }
        }
    }

    pub async fn close(self) -> Result<(), StoreError> {
        let closed = match self {
            Self::File(connection) => connection.close().await,
            Self::Server(connection) => connection.close().await,
        };
        closed.map_err(StoreError::during("transfer: close"))
    }

    /// The newest migration that the database has run; none where it has no tables yet.
    pub async fn version(&mut self) -> Result<Option<i64>, StoreError> {
        let has_tables = match self {
            Self::File(connection) => {
                let tables = "SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'";
                sqlx::query(tables).fetch_optional(connection).await.map(|it| it.is_some())
            }
            Self::Server(connection) => {
                let tables = "SELECT 1 WHERE to_regclass('_sqlx_migrations') IS NOT NULL";
                sqlx::query(tables).fetch_optional(connection).await.map(|it| it.is_some())
            }
        };
        if !has_tables.map_err(StoreError::during("transfer: version"))? {
            return Ok(None);
        }
        let newest = "SELECT coalesce(max(version), 0) AS number FROM _sqlx_migrations";
        self.number(newest).await.map(Some)
    }

    /// The newest migration that this program has for such a database.
    pub fn newest(&self) -> i64 {
        let migrator = match self {
            Self::File(_) => &migrations::CURRENT,
            Self::Server(_) => &migrations::POSTGRES,
        };
        migrations::newest(migrator)
    }

    pub async fn schema(&mut self) -> Result<Schema, StoreError> {
        let schema = match self {
            Self::File(connection) => schema::of_file(connection).await,
            Self::Server(connection) => schema::of_server(connection).await,
        };
        schema.map_err(StoreError::during("transfer: schema"))
    }

    /// What the database has noted under a name.
    pub async fn noted(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let noted = "SELECT value FROM upkeep WHERE name = $1";
        let value = match self {
            Self::File(connection) => {
                sqlx::query_scalar(noted).bind(name).fetch_optional(connection).await
            }
            Self::Server(connection) => {
                sqlx::query_scalar(noted).bind(name).fetch_optional(connection).await
            }
        };
        value.map_err(StoreError::during("transfer: noted"))
    }

    /// Whether a node counts, by the database's clock.
    pub async fn has_node(&mut self) -> Result<bool, StoreError> {
        let clock = match self {
            Self::File(_) => "unixepoch('now', 'subsec')",
            Self::Server(_) => "extract(epoch FROM clock_timestamp())",
        };
        let nodes = format!(
            "SELECT count(*) AS number FROM nodes WHERE state <> 'gone' AND seen_until > {clock} * 1000"
        );
        Ok(self.number(&nodes).await? > 0)
    }

    /// Whether a table has rows.
    pub async fn has_rows(&mut self, table: &str) -> Result<bool, StoreError> {
        let any = format!("SELECT 1 FROM {} LIMIT 1", quoted(table));
        let any = AssertSqlSafe(any);
        let found = match self {
            Self::File(connection) => {
                sqlx::query(any).fetch_optional(connection).await.map(|it| it.is_some())
            }
            Self::Server(connection) => {
                sqlx::query(any).fetch_optional(connection).await.map(|it| it.is_some())
            }
        };
        found.map_err(StoreError::during("transfer: look"))
    }

    /// How many rows a table has.
    pub async fn count(&mut self, table: &str) -> Result<i64, StoreError> {
        let count = format!("SELECT count(*) AS number FROM {}{}", quoted(table), filter(table));
        self.number(&count).await
    }

    async fn number(&mut self, query: &str) -> Result<i64, StoreError> {
        let query = AssertSqlSafe(query.to_owned());
        let number = match self {
            Self::File(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
            Self::Server(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
        };
        number.map_err(StoreError::during("transfer: count"))
    }

    /// The greatest number that each table has given to a row, by table: a row that is gone may have had it.
    pub async fn numbers(&mut self) -> Result<BTreeMap<String, i64>, StoreError> {
        let numbers = match self {
            Self::File(connection) => {
                let all = "SELECT name, seq FROM sqlite_sequence";
                let all = sqlx::query_as::<_, (String, i64)>(all).fetch_all(connection).await;
                all.map(|it| it.into_iter().collect())
            }
            Self::Server(connection) => numbers_of_server(connection).await,
        };
        numbers.map_err(StoreError::during("transfer: numbers"))
    }

    /// The rows of a table, one by one: none is kept.
    pub fn records<'c>(&'c mut self, table: &'c Table) -> Records<'c> {
        let during = || StoreError::during("transfer: read");
        match self {
            Self::File(connection) => {
                let all = sqlx::query::<Sqlite>(AssertSqlSafe(of_file(table))).persistent(false);
                let rows = all.fetch(connection);
                let read = move |row: Result<SqliteRow, Error>| from_file(&row?, table);
                rows.map(move |row| read(row).map_err(during())).boxed()
            }
            Self::Server(connection) => {
                let all = sqlx::query::<Postgres>(AssertSqlSafe(of_server(table)));
                let rows = all.persistent(false).fetch(connection);
                let read = move |row: Result<PgRow, Error>| from_server(&row?, table);
                rows.map(move |row| read(row).map_err(during())).boxed()
            }
        }
    }
}

/// What of a table is moved.
fn filter(table: &str) -> String {
    if table == "upkeep" {
        format!(" WHERE name NOT IN ('{MOVED}', '{FILLED}')")
    } else {
        String::new()
    }
}

/// In SQLite texts are ordered by their bytes, and nothing comes before all else.
fn of_file(table: &Table) -> String {
    let columns: Vec<String> = (0..table.columns.len()).map(|it| table.in_file(it)).collect();
    let order: Vec<String> = table.order().map(|it| table.in_file(it)).collect();
    let (name, filter) = (quoted(&table.name), filter(&table.name));
    format!("SELECT {} FROM {name}{filter} ORDER BY {}", columns.join(", "), order.join(", "))
}

/// The same order in the words of PostgreSQL. A primary key has no nulls: its index is not asked for them.
fn of_server(table: &Table) -> String {
    let columns: Vec<String> = (0..table.columns.len()).map(|it| table.in_server(it)).collect();
    let nulls = if table.key.is_empty() { " NULLS FIRST" } else { "" };
    let order = table.order().map(|it| {
        let is_text = table.columns[it].kind == Kind::Text;
        let collation = if is_text { " COLLATE \"C\"" } else { "" };
        format!("{}{collation}{nulls}", table.in_server(it))
    });
    let order: Vec<String> = order.collect();
    let (name, filter) = (quoted(&table.name), filter(&table.name));
    format!("SELECT {} FROM {name}{filter} ORDER BY {}", columns.join(", "), order.join(", "))
}

fn from_file(row: &SqliteRow, table: &Table) -> Result<Record, Error> {
    let value = |(index, column): (usize, &schema::Column)| -> Result<Value, Error> {
        let value = match column.kind {
            Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
            Kind::Flag => row.try_get::<Option<i64>, _>(index)?.map(|it| flag(it != 0)),
            Kind::Text => row.try_get::<Option<String>, _>(index)?.map(without_nul),
            Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        };
        Ok(value.unwrap_or(Value::Null))
    };
    table.columns.iter().enumerate().map(value).collect()
}

fn from_server(row: &PgRow, table: &Table) -> Result<Record, Error> {
    let value = |(index, column): (usize, &schema::Column)| -> Result<Value, Error> {
        let value = match column.kind {
            Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
            Kind::Flag => row.try_get::<Option<bool>, _>(index)?.map(flag),
            Kind::Text => row.try_get::<Option<String>, _>(index)?.map(Value::Text),
            Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        };
        Ok(value.unwrap_or(Value::Null))
    };
    table.columns.iter().enumerate().map(value).collect()
}

fn flag(is_set: bool) -> Value {
    Value::Integer(is_set.into())
}

/// U+0000 is read as U+FFFD, for PostgreSQL has no texts with it (decision 0064).
fn without_nul(text: String) -> Value {
    Value::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text })
}

/// The columns that a server numbers by itself.
pub async fn identities(connection: &mut PgConnection) -> Result<Vec<Identity>, Error> {
    let identities = sqlx::query(
        "SELECT CAST(c.relname AS TEXT) AS in_table, CAST(a.attname AS TEXT) AS in_column,
                pg_get_serial_sequence(quote_ident(c.relname), CAST(a.attname AS TEXT)) AS sequence
         FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
         JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped AND a.attidentity <> ''
         WHERE c.relkind IN ('r', 'p')",
    );
    let identity = |row: &PgRow| -> Result<Identity, Error> {
        Ok(Identity {
            table: row.try_get("in_table")?,
            column: row.try_get("in_column")?,
            sequence: row.try_get("sequence")?,
        })
    };
    identities.fetch_all(connection).await?.iter().map(identity).collect()
}

async fn numbers_of_server(connection: &mut PgConnection) -> Result<BTreeMap<String, i64>, Error> {
    let mut numbers = BTreeMap::new();
    for Identity { table, sequence, .. } in identities(connection).await? {
        let last = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}");
        let last = sqlx::query_scalar(AssertSqlSafe(last)).fetch_one(&mut *connection);
        let last: i64 = last.await?;
        numbers.insert(table, last);
    }
    Ok(numbers)
}
