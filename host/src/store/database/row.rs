//! From columns to types: a value that does not convert names its table and column.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::store::StoreError;

/// A row that a statement has found.
pub type Row = SqliteRow;

/// What a column can be read as: an integer, a flag, a text or bytes.
pub trait Column<'r>: Sized {
    fn read(row: &'r Row, name: &str) -> Result<Self, sqlx::Error>;
}

macro_rules! as_stored {
    ($($type:ty),+) => {$(
        impl<'r> Column<'r> for $type {
            fn read(row: &'r Row, name: &str) -> Result<Self, sqlx::Error> {
                row.try_get(name)
            }
        }

        impl<'r> Column<'r> for Option<$type> {
            fn read(row: &'r Row, name: &str) -> Result<Self, sqlx::Error> {
                row.try_get(name)
            }
        }
    )+};
}

as_stored!(i64, bool, String, &'r str, Vec<u8>);

/// Databases have one type for integers.
macro_rules! narrowed {
    ($($type:ty),+) => {$(
        impl Column<'_> for $type {
            fn read(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
                row.try_get::<i64, _>(name)?.try_into().map_err(|error| undecodable(name, error))
            }
        }

        impl Column<'_> for Option<$type> {
            fn read(row: &Row, name: &str) -> Result<Self, sqlx::Error> {
                let value: Option<i64> = row.try_get(name)?;
                value.map(TryInto::try_into).transpose().map_err(|error| undecodable(name, error))
            }
        }
    )+};
}

narrowed!(u16, u32);

fn undecodable(name: &str, error: std::num::TryFromIntError) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: name.to_owned(), source: error.into() }
}

/// Reads a column as it is stored.
pub fn column<'r, T: Column<'r>>(row: &'r Row, name: &'static str) -> Result<T, StoreError> {
    T::read(row, name).map_err(StoreError::during("read a column"))
}

/// Reads a text column through `FromStr`.
pub fn parsed<T: FromStr>(
    row: &Row,
    table: &'static str,
    name: &'static str,
) -> Result<T, StoreError> {
    let text: &str = column(row, name)?;
    text.parse().map_err(|_| inconsistent(table, name, text))
}

/// Reads a text column that holds JSON.
pub fn json<T: DeserializeOwned>(
    row: &Row,
    table: &'static str,
    name: &'static str,
) -> Result<T, StoreError> {
    let text: &str = column(row, name)?;
    serde_json::from_str(text).map_err(|_| inconsistent(table, name, text))
}

/// The error for a column whose value this version of the server does not know.
pub fn inconsistent(table: &'static str, column: &'static str, value: &str) -> StoreError {
    StoreError::Inconsistent { table, column, value: value.chars().take(80).collect() }
}
