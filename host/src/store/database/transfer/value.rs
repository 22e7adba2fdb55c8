//! A row as both databases hold it: what is compared, written and hashed.

use std::fmt;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sha2::{Digest as _, Sha256};

use crate::hexadecimal::hexadecimal;

/// A value. The order is that of SQLite, and of PostgreSQL with `COLLATE "C"` and `NULLS FIRST`, within one column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Null,
    /// A flag is 0 or 1.
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The values of a row, in the order of its table's columns.
pub type Record = Vec<Value>;

/// What a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub rows: u64,
    /// SHA-256 over all rows in the order of their keys.
    pub digest: String,
}

/// Makes a [`Content`] of rows.
pub struct Hasher {
    hash: Sha256,
    rows: u64,
}

impl Value {
    /// About how much memory it takes.
    pub fn octets(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) => size_of::<i64>(),
            Self::Text(it) => it.len(),
            Self::Bytes(it) => it.len(),
        }
    }
}

impl fmt::Display for Value {
    /// As SQL writes it: whoever reads an error looks the row up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(it) => write!(f, "{it}"),
            Self::Text(it) => write!(f, "'{}'", it.replace('\'', "''")),
            Self::Bytes(it) => write!(f, "x'{}'", hexadecimal(it)),
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(it) => ValueRef::Integer(*it),
            Self::Text(it) => ValueRef::Text(it.as_bytes()),
            Self::Bytes(it) => ValueRef::Blob(it),
        }))
    }
}

impl Hasher {
    pub fn new() -> Self {
        Self { hash: Sha256::new(), rows: 0 }
    }

    /// Each value is its kind, and its length where that is not always the same: no two rows are hashed alike.
    pub fn add(&mut self, record: &[Value]) {
        self.rows += 1;
        for value in record {
            match value {
                Value::Null => self.hash.update([0]),
                Value::Integer(it) => {
                    self.hash.update([1]);
                    self.hash.update(it.to_be_bytes());
                }
                Value::Text(it) => self.add_octets(2, it.as_bytes()),
                Value::Bytes(it) => self.add_octets(3, it),
            }
        }
    }

    fn add_octets(&mut self, kind: u8, octets: &[u8]) {
        self.hash.update([kind]);
        self.hash.update(u64::try_from(octets.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.hash.update(octets);
    }

    pub fn finish(self) -> Content {
        let digest: [u8; 32] = self.hash.finalize().into();
        Content { rows: self.rows, digest: hexadecimal(&digest) }
    }
}
