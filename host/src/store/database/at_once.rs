//! A statement for many rows of values: one after the other on a file, and all at once on a server, where each statement
//! costs a round trip.

use super::arg::Arg;
use super::connections::{Inner, Tx};
use super::postgres::run::{self, Want};
use super::row::{Row, column};
use super::statement::{Sql, each};
use crate::store::StoreError;
use crate::store::error::DriverError;

/// A statement for each row of values. On a file its text calls them `$1`, `$2`, …; the text for a server has the same
/// names for the columns of all rows, as arrays: `FROM unnest(CAST($1 AS BYTEA[]), …) WITH ORDINALITY AS r (id, …, number)`.
/// No two rows may be about the same row of a table.
pub fn each_at_once<'a, const COLUMNS: usize, R>(
    text: Sql,
    rows: R,
) -> EachAtOnce<COLUMNS, R::IntoIter>
where
    R: IntoIterator<Item = [Arg<'a>; COLUMNS]>,
{
    EachAtOnce { text, rows: rows.into_iter() }
}

/// See [`each_at_once`].
#[derive(Debug)]
#[must_use = "statements do nothing before they are run"]
pub struct EachAtOnce<const COLUMNS: usize, R> {
    text: Sql,
    rows: R,
}

impl<'a, const COLUMNS: usize, R: ExactSizeIterator<Item = [Arg<'a>; COLUMNS]>>
    EachAtOnce<COLUMNS, R>
{
    pub async fn run(self, tx: &mut Tx) -> Result<(), StoreError> {
        match &mut tx.inner {
            Inner::Postgres(open) => {
                let (name, text) = (self.text.name(), self.text.on_server());
                let done = Box::pin(run::at_once(open, text, self.rows, Want::Number)).await;
                done.map(|_| ()).map_err(StoreError::during(name))
            }
            Inner::Reading(_) | Inner::Writing(_) => {
                each(self.text, self.rows).run(tx).await.map(|_| ())
            }
        }
    }

    /// Answers for each row of values whether a row was written. On a server the text returns the `number` of each that was.
    pub async fn written(self, tx: &mut Tx) -> Result<Vec<bool>, StoreError> {
        if let Inner::Postgres(_) = tx.inner {
            let found = self.find(tx).await?;
            return Ok(found.iter().map(Option::is_some).collect());
        }
        let written = each(self.text, self.rows).run(tx).await?;
        Ok(written.into_iter().map(|rows| rows > 0).collect())
    }

    /// Answers for each row of values the row that it finds, where there is one. On a server the text has its `number`.
    pub async fn find(self, tx: &mut Tx) -> Result<Vec<Option<Row>>, StoreError> {
        let count = self.rows.len();
        match &mut tx.inner {
            Inner::Postgres(open) => {
                let (name, text) = (self.text.name(), self.text.on_server());
                let during = StoreError::during(name);
                let done = run::at_once(open, text, self.rows, Want::Rows);
                let rows = Box::pin(done).await.map_err(during)?.rows;
                let mut found: Vec<Option<Row>> = (0..count).map(|_| None).collect();
                for row in rows {
                    let number: i64 = column(&row, "number")?;
                    let place = usize::try_from(number - 1).ok().and_then(|it| found.get_mut(it));
                    let no_place = || DriverError::Column { name: "number".to_owned() };
                    *place.ok_or_else(no_place).map_err(StoreError::during(name))? = Some(row);
                }
                Ok(found)
            }
            Inner::Reading(_) | Inner::Writing(_) => each(self.text, self.rows).find(tx).await,
        }
    }
}
