//! From columns to types: a value that does not convert names its table and column.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::store::StoreError;

/// Reads a column that the driver converts by itself.
pub fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(name).map_err(StoreError::during("read a column"))
}

/// Reads a text column through `FromStr`.
pub fn parsed<T: FromStr>(
    row: &SqliteRow,
    table: &'static str,
    name: &'static str,
) -> Result<T, StoreError> {
    let text: String = column(row, name)?;
    text.parse().map_err(|_| inconsistent(table, name, &text))
}

/// Reads a text column that holds JSON.
pub fn json<T: DeserializeOwned>(
    row: &SqliteRow,
    table: &'static str,
    name: &'static str,
) -> Result<T, StoreError> {
    let text: String = column(row, name)?;
    serde_json::from_str(&text).map_err(|_| inconsistent(table, name, &text))
}

/// A row that this version cannot read.
pub fn inconsistent(table: &'static str, column: &'static str, value: &str) -> StoreError {
    StoreError::Inconsistent { table, column, value: value.chars().take(80).collect() }
}

/// JSON text of our own values.
pub fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our own values have string keys only")
}
