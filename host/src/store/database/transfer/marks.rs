//! Two notes that say that a database is no store: it was moved, or a move has not filled it to the end. They stand
//! where the work in the background keeps its own, and belong to the database that they are in: a move does not take
//! them along.

use serde::{Deserialize, Serialize};

use super::super::connections::On;
use super::super::row::column;
use super::super::statement::sql;
use crate::store::StoreError;
use crate::store::error::TransferError;

/// Under this name stands where a database was moved to.
pub const MOVED: &str = "moved to";
/// Under this name stands a [`Filling`].
pub const FILLED: &str = "filled from";

/// The notes, for whoever has no store.
pub const ALL: &str =
    "SELECT name, value FROM upkeep WHERE name = 'moved to' OR name = 'filled from'";

/// How far a database is that is being filled.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Filling {
    /// The salt of the events of the installation that is moved, which no other one has.
    pub from: String,
    /// The statements that make its foreign keys again.
    pub foreign_keys: Vec<String>,
}

/// Refuses a database that is no store.
pub async fn refuse(on: impl Into<On<'_>>) -> Result<(), StoreError> {
    let marks = sql("-- marks of a move
         SELECT name, value FROM upkeep WHERE name IN (SELECT value FROM json_each($1))");
    let marks = marks.list(&[MOVED, FILLED]).all(on).await?;
    let Some(mark) = marks.first() else { return Ok(()) };
    Err(refusal(column(mark, "name")?, column(mark, "value")?))
}

/// What to say of a database with such a note.
#[must_use]
pub fn refusal(name: &str, value: String) -> StoreError {
    let why = if name == MOVED { TransferError::Moved { to: value } } else { TransferError::Half };
    why.into()
}
