//! Statements: a text whose first line is its name, and what is bound to it.

use std::borrow::Cow;
use std::fmt::Write as _;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use rusqlite::Connection;
use serde::Serialize;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Sqlite as Driver};

use super::arg::{Arg, IntoArg, hexadecimal, to_json};
use super::connections::{Inner, On, Tx};
use super::inline::{self, Text};
use super::row::Row;
use crate::id::Identifier;
use crate::store::StoreError;
use crate::store::error::DriverError;

/// A statement, ready to run.
#[derive(Debug)]
#[must_use = "a statement does nothing before it is run"]
pub struct Statement<'a> {
    name: &'static str,
    text: Cow<'static, str>,
    arguments: Vec<Arg<'a>>,
}

/// A statement. Its first line, `-- name`, names it in errors and in the tests of the query plans.
pub fn sql<'a>(text: &'static str) -> Statement<'a> {
    Statement { name: name(text), text: text.into(), arguments: Vec::new() }
}

fn name(text: &'static str) -> &'static str {
    text.strip_prefix("-- ").and_then(|it| it.lines().next()).unwrap_or("a statement")
}

impl<'a> Statement<'a> {
    /// Binds the next value: `$1`, `$2`, ….
    pub fn bind(mut self, value: impl IntoArg<'a>) -> Self {
        self.arguments.push(value.into_arg());
        self
    }

    /// Binds values that the text has as `IN (SELECT value FROM json_each($n))`, and in no other words: where
    /// a database has arrays, that phrase is the one to replace.
    pub fn list<T: Serialize + ?Sized>(self, values: &T) -> Self {
        self.bind(to_json(values))
    }

    /// Binds identifiers that the text has as `IN (SELECT unhex(value) FROM json_each($n))`, and in no other words.
    pub fn ids<T: Identifier>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.bind(hexadecimal(ids))
    }

    /// Binds a value as JSON text.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        self.bind(to_json(value))
    }

    /// Adds to the text.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Adds the next parameter to the text, and binds it.
    pub fn push_bind(&mut self, value: impl IntoArg<'a>) -> &mut Self {
        self.arguments.push(value.into_arg());
        let number = self.arguments.len();
        write!(self.text.to_mut(), "${number}").expect("a string takes everything");
        self
    }

    /// All rows.
    pub async fn all(self, on: impl Into<On<'_>>) -> Result<Vec<Row>, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Inline(it) => match it.hold().await {
                Ok(held) => held.alone(|it| self.rows(it, usize::MAX)),
                Err(error) => Err(error),
            },
            On::Tx(Tx { inner: Inner::Writing(it), .. }) => {
                it.within().and_then(|it| self.rows(it, usize::MAX))
            }
            On::Connections(it) => pooled(self.query().fetch_all(it.pool()).await),
            On::Tx(Tx { inner: Inner::Reading(it), .. }) => {
                pooled(self.query().fetch_all(&mut **it).await)
            }
        }
        .map_err(error)
    }

    /// The only row.
    pub async fn one(self, on: impl Into<On<'_>>) -> Result<Row, StoreError> {
        let none = StoreError::Database { operation: self.name, source: DriverError::NoRow };
        self.optional(on).await?.ok_or(none)
    }

    /// The only row, where there is one.
    pub async fn optional(self, on: impl Into<On<'_>>) -> Result<Option<Row>, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Inline(it) => match it.hold().await {
                Ok(held) => held.alone(|it| self.rows(it, 1)).map(|mut rows| rows.pop()),
                Err(error) => Err(error),
            },
            On::Tx(Tx { inner: Inner::Writing(it), .. }) => {
                it.within().and_then(|it| self.rows(it, 1)).map(|mut rows| rows.pop())
            }
            On::Connections(it) => {
                let row = self.query().fetch_optional(it.pool()).await;
                row.map(|row| row.map(Row::Pooled)).map_err(DriverError::Pooled)
            }
            On::Tx(Tx { inner: Inner::Reading(it), .. }) => {
                let row = self.query().fetch_optional(&mut **it).await;
                row.map(|row| row.map(Row::Pooled)).map_err(DriverError::Pooled)
            }
        }
        .map_err(error)
    }

    /// Rows one by one: whoever has enough of them stops.
    pub fn stream(self, tx: &mut Tx) -> impl Stream<Item = Result<Row, StoreError>> {
        let name = self.name;
        match &mut tx.inner {
            Inner::Writing(held) => {
                let rows = held.within().and_then(|it| self.rows(it, usize::MAX));
                let (rows, error) = rows.map_or_else(|it| (Vec::new(), Some(it)), |it| (it, None));
                let rows = rows.into_iter().map(Ok).chain(error.into_iter().map(Err));
                stream::iter(rows).left_stream()
            }
            Inner::Reading(tx) => {
                let rows = self.query().fetch(&mut **tx);
                rows.map_ok(Row::Pooled).map_err(DriverError::Pooled).right_stream()
            }
        }
        .map_err(move |source| StoreError::Database { operation: name, source })
    }

    /// Answers how many rows it has written.
    pub async fn run(self, on: impl Into<On<'_>>) -> Result<u64, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Inline(it) => match it.hold().await {
                Ok(held) => held.alone(|it| inline::run(it, &self.text(), &self.arguments)),
                Err(error) => Err(error),
            },
            On::Tx(Tx { inner: Inner::Writing(it), .. }) => {
                it.within().and_then(|it| inline::run(it, &self.text(), &self.arguments))
            }
            On::Connections(_) | On::Tx(_) => Err(DriverError::ReadsOnly),
        }
        .map_err(error)
    }

    fn rows(&self, connection: &Connection, most: usize) -> Result<Vec<Row>, DriverError> {
        inline::rows(connection, &self.text(), &self.arguments, most)
    }

    fn text(&self) -> Text<'_> {
        match &self.text {
            Cow::Borrowed(text) => Text::Constant(text),
            Cow::Owned(text) => Text::Composed(text),
        }
    }

    /// A text that was put together is not kept prepared: the next one is another one.
    fn query(self) -> Query<'static, Driver, SqliteArguments> {
        let mut arguments = SqliteArguments::default();
        for argument in self.arguments {
            argument.add_to(&mut arguments);
        }
        match self.text {
            Cow::Borrowed(text) => sqlx::query_with(text, arguments),
            Cow::Owned(text) => sqlx::query_with(AssertSqlSafe(text), arguments).persistent(false),
        }
    }
}

fn pooled(rows: Result<Vec<SqliteRow>, sqlx::Error>) -> Result<Vec<Row>, DriverError> {
    Ok(rows?.into_iter().map(Row::Pooled).collect())
}

/// A statement that inserts rows. `into` is all up to the values, `then` what follows them.
pub fn inserts<'a, const COLUMNS: usize, R>(
    into: &'static str,
    rows: R,
    then: &'static str,
) -> Inserts<COLUMNS, R::IntoIter>
where
    R: IntoIterator<Item = [Arg<'a>; COLUMNS]>,
{
    Inserts { into, rows: rows.into_iter(), then }
}

/// See [`inserts`].
#[derive(Debug)]
#[must_use = "statements do nothing before they are run"]
pub struct Inserts<const COLUMNS: usize, R> {
    into: &'static str,
    rows: R,
    then: &'static str,
}

impl<'a, const COLUMNS: usize, R: Iterator<Item = [Arg<'a>; COLUMNS]>> Inserts<COLUMNS, R> {
    /// Row by row: a statement of many rows is another text for each number of them, and had to be prepared
    /// each time.
    #[expect(clippy::unused_async, reason = "a database behind a network answers later")]
    pub async fn run(self, tx: &mut Tx) -> Result<(), StoreError> {
        // Without numbers: SQLite looks a numbered parameter up in all that came before it.
        let length = self.into.len() + 3 * COLUMNS + self.then.len();
        let mut text = String::with_capacity(length + " VALUES ()".len());
        text.push_str(self.into);
        text.push_str(" VALUES (?");
        (1..COLUMNS).for_each(|_| text.push_str(", ?"));
        text.push(')');
        text.push_str(self.then);
        match &tx.inner {
            Inner::Writing(it) => it.within().and_then(|it| inline::run_each(it, &text, self.rows)),
            Inner::Reading(_) => Err(DriverError::ReadsOnly),
        }
        .map_err(StoreError::during(name(self.into)))
    }
}

/// A statement that writes once for each row of values, which its text calls `$1`, `$2`, …
pub fn each<'a, const COLUMNS: usize, R>(text: &'static str, rows: R) -> Each<COLUMNS, R::IntoIter>
where
    R: IntoIterator<Item = [Arg<'a>; COLUMNS]>,
{
    Each { text, rows: rows.into_iter() }
}

/// See [`each`].
#[derive(Debug)]
#[must_use = "statements do nothing before they are run"]
pub struct Each<const COLUMNS: usize, R> {
    text: &'static str,
    rows: R,
}

impl<'a, const COLUMNS: usize, R: Iterator<Item = [Arg<'a>; COLUMNS]>> Each<COLUMNS, R> {
    /// Answers for each row of values how many rows it has written.
    #[expect(clippy::unused_async, reason = "a database behind a network answers later")]
    pub async fn run(self, tx: &mut Tx) -> Result<Vec<u64>, StoreError> {
        match &tx.inner {
            Inner::Writing(it) => {
                it.within().and_then(|it| inline::run_numbered(it, self.text, self.rows))
            }
            Inner::Reading(_) => Err(DriverError::ReadsOnly),
        }
        .map_err(StoreError::during(name(self.text)))
    }

    /// Answers for each row of values the row that it finds, where there is one.
    pub async fn find(self, tx: &mut Tx) -> Result<Vec<Option<Row>>, StoreError> {
        let mut found = Vec::with_capacity(self.rows.size_hint().0);
        for row in self.rows {
            let statement =
                Statement { name: name(self.text), text: self.text.into(), arguments: row.into() };
            found.push(statement.optional(&mut *tx).await?);
        }
        Ok(found)
    }
}
