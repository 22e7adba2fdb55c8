//! The tables of a database, read from its own schema, and what they are on both sides of a move. But for those
//! of one database, nothing here names the tables that there are: a new one is moved without a word about it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sqlx::Error;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

use super::value::Value;
use crate::store::error::TransferError;

/// Which servers work with a database, and for what: another database has other ones. Totals are counted anew: a server
/// keeps them in many rows, and a file in one.
const OF_ONE_DATABASE: [&str; 4] = ["nodes", "plugin_nodes", "shares", "totals"];
/// The column of a server that a file does without: there it is the number that SQLite gives each row.
const NUMBER: (&str, &str) = ("samples", "number");

/// A table that both databases have.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// Which columns are its primary key; none where it has none.
    pub key: Vec<usize>,
    /// Whether a value is unique that is not its primary key.
    pub is_unique_besides: bool,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Flag,
    Text,
    Bytes,
}

/// The tables of one database, by name.
pub type Schema = BTreeMap<String, Found>;

/// A table of one database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Names with their types, as the database says them.
    columns: Vec<(String, String)>,
    /// The primary key: the place within it, and the column.
    key: BTreeMap<i64, String>,
    is_unique_besides: bool,
}

impl Table {
    /// The columns by which its rows are put in order.
    pub fn order(&self) -> impl Iterator<Item = usize> + '_ {
        let all = if self.key.is_empty() { self.columns.len() } else { 0 };
        self.key.iter().copied().chain(0..all)
    }

    /// Which of two rows comes first.
    pub fn compare(&self, one: &[Value], other: &[Value]) -> Ordering {
        let values = |it: usize| one[it].cmp(&other[it]);
        self.order().map(values).find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// How to find a row again.
    pub fn place_of(&self, record: &[Value]) -> String {
        let column = |it: usize| format!("{} = {}", self.columns[it].name, record[it]);
        self.order().map(column).collect::<Vec<_>>().join(" AND ")
    }

    /// A column by its name in SQL of a file.
    pub fn in_file(&self, column: usize) -> String {
        let name = &self.columns[column].name;
        if (self.name.as_str(), name.as_str()) == NUMBER {
            return "rowid".to_owned();
        }
        quoted(name)
    }

    /// The same for a server.
    pub fn in_server(&self, column: usize) -> String {
        quoted(&self.columns[column].name)
    }
}

/// A name that may be a word of SQL, as `key` is.
pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Of a column: its table, its name, its type, its place in the primary key, and whether the table has a further unique
/// index.
type ColumnRow = (String, String, String, Option<i64>, bool);

fn schema(columns: Vec<ColumnRow>) -> Schema {
    let mut schema = Schema::new();
    for (table, column, kind, place, is_unique_besides) in columns {
        let found = schema.entry(table).or_default();
        found.add(column, kind, place);
        found.is_unique_besides = is_unique_besides;
    }
    schema.retain(|name, _| !OF_ONE_DATABASE.contains(&name.as_str()));
    schema
}

/// The tables of a file.
pub async fn of_file(connection: &mut SqliteConnection) -> Result<Schema, Error> {
    let columns = sqlx::query_as::<_, ColumnRow>(
        "SELECT m.name AS in_table, p.name AS in_column, p.type AS kind, nullif(p.pk, 0) AS place,
                EXISTS (SELECT 1 FROM pragma_index_list(m.name) i WHERE i.\"unique\" = 1 AND i.origin <> 'pk')
                    AS is_unique
         FROM sqlite_schema m, pragma_table_info(m.name) p
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND m.name <> '_sqlx_migrations'
         ORDER BY m.name, p.cid",
    );
    Ok(schema(columns.fetch_all(connection).await?))
}

/// The tables of a server's database.
pub async fn of_server(connection: &mut PgConnection) -> Result<Schema, Error> {
    let columns = sqlx::query_as::<_, ColumnRow>(
        "SELECT CAST(c.relname AS TEXT) AS in_table, CAST(a.attname AS TEXT) AS in_column,
                format_type(a.atttypid, a.atttypmod) AS kind,
                CAST(array_position(CAST(i.indkey AS SMALLINT[]), a.attnum) AS BIGINT) AS place,
                EXISTS (SELECT 1 FROM pg_index u
                        WHERE u.indrelid = c.oid AND u.indisunique AND NOT u.indisprimary) AS is_unique
         FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE c.relkind IN ('r', 'p') AND c.relname <> '_sqlx_migrations'
         ORDER BY c.relname, a.attnum",
    );
    Ok(schema(columns.fetch_all(connection).await?))
}

impl Found {
    fn add(&mut self, name: String, kind: String, place: Option<i64>) {
        self.key.extend(place.map(|it| (it, name.clone())));
        self.columns.push((name, kind));
    }

    fn kind_of(&self, column: &str) -> Option<&str> {
        self.columns.iter().find(|(name, _)| name == column).map(|(_, kind)| kind.as_str())
    }
}

/// What a file and a server have in common, which is all that either of them has.
///
/// # Errors
/// One has a table, a column or a key that the other has not.
pub fn tables(file: &Schema, server: &Schema) -> Result<Vec<Table>, TransferError> {
    let unlike = |what: String| TransferError::Unlike { what };
    if let Some(name) = file.keys().find(|it| !server.contains_key(*it)) {
        return Err(unlike(format!("the table {name}, which PostgreSQL has not")));
    }
    server.iter().map(|(name, of_server)| table(name, file.get(name), of_server)).collect()
}

fn table(name: &str, of_file: Option<&Found>, of_server: &Found) -> Result<Table, TransferError> {
    let unlike = |what: String| TransferError::Unlike { what };
    let Some(of_file) = of_file else {
        return Err(unlike(format!("the table {name}, which SQLite has not")));
    };
    let known = |column: &str| of_server.kind_of(column).is_some();
    if let Some((column, _)) = of_file.columns.iter().find(|(it, _)| !known(it)) {
        return Err(unlike(format!("the column {name}.{column}, which PostgreSQL has not")));
    }
    if !of_file.key.values().eq(of_server.key.values()) {
        return Err(unlike(format!("the primary key of {name}")));
    }
    let mut columns = Vec::with_capacity(of_server.columns.len());
    for (column, declared) in &of_server.columns {
        let is_number = (name, column.as_str()) == NUMBER;
        let in_file = of_file.kind_of(column).or(is_number.then_some("INTEGER"));
        let kind = match (declared.as_str(), in_file) {
            ("bigint", Some("INTEGER")) => Kind::Integer,
            ("boolean", Some("INTEGER")) => Kind::Flag,
            ("text", Some("TEXT")) => Kind::Text,
            ("bytea", Some("BLOB")) => Kind::Bytes,
            (_, None) => {
                return Err(unlike(format!("the column {name}.{column}, which SQLite has not")));
            }
            (one, Some(other)) => {
                return Err(unlike(format!("the column {name}.{column}: {one} and {other}")));
            }
        };
        columns.push(Column { name: column.clone(), kind });
    }
    let place = |column: &String| columns.iter().position(|it| it.name == *column);
    let key = of_server.key.values().filter_map(place).collect();
    let is_unique_besides = of_file.is_unique_besides || of_server.is_unique_besides;
    Ok(Table { name: name.to_owned(), columns, key, is_unique_besides })
}
