//! From columns to types: a value that does not convert names its table and column.

use std::str::FromStr;
use std::sync::Arc;

use rusqlite::types::{Value, ValueRef};
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use crate::clock::Timestamp;
use crate::id::{
    AccountId, DecisionId, DomainId, EventId, Identifier, KeyId, MessageId, SessionId, TemplateId,
    UserId, WebhookId,
};
use crate::store::StoreError;
use crate::store::error::DriverError;

/// A row that a statement has found.
#[derive(Debug)]
pub enum Row {
    Inline(InlineRow),
    Pooled(SqliteRow),
    Postgres(PgRow),
}

/// A row of an inline connection.
#[derive(Debug)]
pub struct InlineRow {
    names: Arc<[Box<str>]>,
    values: Box<[Value]>,
}

impl InlineRow {
    pub fn read(names: &Arc<[Box<str>]>, row: &rusqlite::Row<'_>) -> Result<Self, DriverError> {
        let value = |(index, name): (usize, &str)| match row.get_ref(index)? {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(value) => Ok(Value::Integer(value)),
            ValueRef::Real(value) => Ok(Value::Real(value)),
            ValueRef::Blob(value) => Ok(Value::Blob(value.to_vec())),
            ValueRef::Text(value) => match str::from_utf8(value) {
                Ok(text) => Ok(Value::Text(text.to_owned())),
                Err(_) => Err(unreadable(name)),
            },
        };
        let values =
            names.iter().map(|it| &**it).enumerate().map(value).collect::<Result<_, _>>()?;
        Ok(Self { names: Arc::clone(names), values })
    }

    fn value(&self, name: &str) -> Result<&Value, DriverError> {
        let found = self.names.iter().position(|it| &**it == name);
        found.map(|index| &self.values[index]).ok_or_else(|| unreadable(name))
    }
}

/// What a column can be read as: an integer, a flag, a text, bytes or an identifier.
pub trait Column<'r>: Sized {
    fn read(row: &'r Row, name: &str) -> Result<Self, DriverError>;
}

macro_rules! as_stored {
    ($($type:ty: $kind:pat => $value:expr;)+) => {$(
        impl<'r> Column<'r> for $type {
            fn read(row: &'r Row, name: &str) -> Result<Self, DriverError> {
                Option::read(row, name)?.ok_or_else(|| unreadable(name))
            }
        }

        impl<'r> Column<'r> for Option<$type> {
            fn read(row: &'r Row, name: &str) -> Result<Self, DriverError> {
                match row {
                    Row::Pooled(row) => Ok(row.try_get(name)?),
                    Row::Postgres(row) => Ok(row.try_get(name)?),
                    Row::Inline(row) => {
                        let value = row.value(name)?;
                        if let $kind = value {
                            Ok(Some($value))
                        } else if *value == Value::Null {
                            Ok(None)
                        } else {
                            Err(unreadable(name))
                        }
                    }
                }
            }
        }
    )+};
}

as_stored! {
    i64: Value::Integer(it) => *it;
    bool: Value::Integer(it) => *it != 0;
    String: Value::Text(it) => it.clone();
    &'r str: Value::Text(it) => it.as_str();
    Vec<u8>: Value::Blob(it) => it.clone();
    &'r [u8]: Value::Blob(it) => it.as_slice();
}

/// An identifier is its 16 bytes.
macro_rules! identifiers {
    ($($type:ty),+) => {$(
        impl Column<'_> for $type {
            fn read(row: &Row, name: &str) -> Result<Self, DriverError> {
                Option::read(row, name)?.ok_or_else(|| unreadable(name))
            }
        }

        impl Column<'_> for Option<$type> {
            fn read(row: &Row, name: &str) -> Result<Self, DriverError> {
                let bytes: Option<&[u8]> = Option::read(row, name)?;
                let id = |bytes: &[u8]| bytes.try_into().map(<$type>::from_bytes);
                bytes.map(id).transpose().map_err(|_| unreadable(name))
            }
        }
    )+};
}

identifiers!(
    AccountId, DecisionId, DomainId, EventId, KeyId, MessageId, SessionId, TemplateId, UserId,
    WebhookId
);

/// Databases have one type for integers.
macro_rules! narrowed {
    ($($type:ty),+) => {$(
        impl Column<'_> for $type {
            fn read(row: &Row, name: &str) -> Result<Self, DriverError> {
                i64::read(row, name)?.try_into().map_err(|_| unreadable(name))
            }
        }

        impl Column<'_> for Option<$type> {
            fn read(row: &Row, name: &str) -> Result<Self, DriverError> {
                let value: Option<i64> = Option::read(row, name)?;
                value.map(TryInto::try_into).transpose().map_err(|_| unreadable(name))
            }
        }
    )+};
}

narrowed!(u16, u32);

fn unreadable(name: &str) -> DriverError {
    DriverError::Column { name: name.to_owned() }
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

/// Reads a text column that holds one of the words of `of`.
pub fn word<T>(
    row: &Row,
    table: &'static str,
    name: &'static str,
    of: impl Fn(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let text: &str = column(row, name)?;
    of(text).ok_or_else(|| inconsistent(table, name, text))
}

/// Reads a column of milliseconds since the Unix epoch.
pub fn moment(row: &Row, name: &'static str) -> Result<Timestamp, StoreError> {
    column(row, name).map(Timestamp::from_millis)
}

/// The same, where there may be none.
pub fn moment_or_none(row: &Row, name: &'static str) -> Result<Option<Timestamp>, StoreError> {
    column::<Option<i64>>(row, name).map(|it| it.map(Timestamp::from_millis))
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

/// Reads a text column that holds JSON, or nothing where that would be empty.
pub fn json_or_empty<T: DeserializeOwned + Default>(
    row: &Row,
    table: &'static str,
    name: &'static str,
) -> Result<T, StoreError> {
    match column::<Option<&str>>(row, name)? {
        Some(_) => json(row, table, name),
        None => Ok(T::default()),
    }
}

/// The error for a column whose value this version of the server does not know.
pub fn inconsistent(table: &'static str, column: &'static str, value: &str) -> StoreError {
    StoreError::Inconsistent { table, column, value: value.chars().take(80).collect() }
}
