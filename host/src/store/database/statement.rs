//! Statements: a text whose first line is its name, and what is bound to it.

use std::borrow::Cow;
use std::fmt::Write as _;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use rusqlite::Connection;
use serde::Serialize;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Sqlite as Driver};

use super::arg::{Arg, IntoArg, to_json};
use super::connections::{Inner, On, Tx};
use super::inline::{self, Text};
use super::postgres::run::{self, Said, Want};
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
    /// What PostgreSQL is told instead.
    postgres: Option<Cow<'static, str>>,
    arguments: Vec<Arg<'a>>,
}

/// The text of a statement. Its first line, `-- name`, names it in errors and in the tests of the query plans.
#[derive(Debug, Clone, Copy)]
pub struct Sql {
    text: &'static str,
    postgres: Option<&'static str>,
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self { text, postgres: None }
    }
}

/// A statement that PostgreSQL does not understand, or understands otherwise, and its second text, whose first line is
/// `-- postgres: name`.
pub const fn either(text: &'static str, postgres: &'static str) -> Sql {
    Sql { text, postgres: Some(postgres) }
}

/// A statement that only runs where others may write beside its transaction ([`super::Tx::is_alone`] is false), which is
/// on a server. Its first line is `-- postgres: name`, too.
pub const fn beside(postgres: &'static str) -> Sql {
    Sql { text: postgres, postgres: None }
}

pub fn sql<'a>(text: impl Into<Sql>) -> Statement<'a> {
    let Sql { text, postgres } = text.into();
    let postgres = postgres.map(Cow::Borrowed);
    Statement { name: name(text), text: text.into(), postgres, arguments: Vec::new() }
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

    /// Binds texts that the statement has as `IN (SELECT value FROM json_each($n))`, and in no other words: PostgreSQL
    /// gets an array instead.
    pub fn list<T: Serialize + ?Sized>(mut self, texts: &T) -> Self {
        self.arguments.push(Arg::Texts(to_json(texts)));
        self
    }

    /// Binds numbers in the same way.
    pub fn numbers(mut self, numbers: &[i64]) -> Self {
        self.arguments.push(Arg::Integers(to_json(numbers)));
        self
    }

    /// Binds identifiers that the text has as `IN (SELECT unhex(value) FROM json_each($n))`, and in no other words.
    pub fn ids<T: Identifier>(mut self, ids: impl IntoIterator<Item = T>) -> Self {
        self.arguments.push(Arg::Ids(ids.into_iter().map(Identifier::to_bytes).collect()));
        self
    }

    /// Binds a value as JSON text.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        self.bind(to_json(value))
    }

    /// Adds to the text.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.push_either(text, text)
    }

    /// Adds to the text what the second database says in other words.
    pub fn push_either(&mut self, text: &str, postgres: &str) -> &mut Self {
        if text != postgres && self.postgres.is_none() {
            self.postgres = Some(self.text.clone());
        }
        if let Some(own) = &mut self.postgres {
            own.to_mut().push_str(postgres);
        }
        self.text.to_mut().push_str(text);
        self
    }

    /// Adds the next parameter to the text, and binds it.
    pub fn push_bind(&mut self, value: impl IntoArg<'a>) -> &mut Self {
        self.push_arg(value.into_arg())
    }

    /// Adds ` IN (…)` with these texts.
    pub fn push_list<T: Serialize + ?Sized>(&mut self, texts: &T) -> &mut Self {
        self.push_in(Arg::Texts(to_json(texts)))
    }

    /// Adds ` IN (…)` with these numbers.
    pub fn push_numbers(&mut self, numbers: &[i64]) -> &mut Self {
        self.push_in(Arg::Integers(to_json(numbers)))
    }

    fn push_in(&mut self, list: Arg<'a>) -> &mut Self {
        self.push(" IN (SELECT value FROM json_each(").push_arg(list).push("))")
    }

    /// Adds the next parameter and binds these texts to it, where the list is joined and not compared by `IN`.
    pub fn push_texts<T: Serialize + ?Sized>(&mut self, texts: &T) -> &mut Self {
        self.push_arg(Arg::Texts(to_json(texts)))
    }

    fn push_arg(&mut self, value: Arg<'a>) -> &mut Self {
        self.arguments.push(value);
        let number = self.arguments.len();
        let texts = std::iter::once(&mut self.text).chain(&mut self.postgres);
        for text in texts {
            write!(text.to_mut(), "${number}").expect("a string takes everything");
        }
        self
    }

    fn said(&self) -> Said<'_> {
        let text = self.postgres.as_ref().unwrap_or(&self.text);
        Said { text, arguments: &self.arguments }
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
            On::Writing(it) => it.within().and_then(|it| self.rows(it, usize::MAX)),
            On::Pool(it, _) => pooled(self.query().fetch_all(it).await),
            On::Reading(it) => pooled(self.query().fetch_all(&mut **it).await),
            On::Postgres(it) => it.run(self.said(), Want::Rows).await.map(|it| it.rows),
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
            On::Writing(it) => {
                it.within().and_then(|it| self.rows(it, 1)).map(|mut rows| rows.pop())
            }
            On::Pool(it, _) => {
                let row = self.query().fetch_optional(it).await;
                row.map(|row| row.map(Row::Pooled)).map_err(DriverError::Pooled)
            }
            On::Reading(it) => {
                let row = self.query().fetch_optional(&mut **it).await;
                row.map(|row| row.map(Row::Pooled)).map_err(DriverError::Pooled)
            }
            On::Postgres(it) => {
                it.run(self.said(), Want::FirstRow).await.map(|mut it| it.rows.pop())
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
                stream::iter(rows).left_stream().left_stream()
            }
            Inner::Reading(tx) => {
                let rows = self.query().fetch(&mut **tx);
                rows.map_ok(Row::Pooled).map_err(DriverError::Pooled).right_stream().left_stream()
            }
            Inner::Postgres(tx) => tx.stream(self.said()).right_stream(),
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
            On::Writing(it) => {
                it.within().and_then(|it| inline::run(it, &self.text(), &self.arguments))
            }
            On::Pool(..) | On::Reading(_) => Err(DriverError::ReadsOnly),
            On::Postgres(it) => it.run(self.said(), Want::Number).await.map(|it| it.written),
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
    pub async fn run(self, tx: &mut Tx) -> Result<(), StoreError> {
        let during = StoreError::during(name(self.into));
        let held = match &mut tx.inner {
            Inner::Writing(it) => it,
            Inner::Reading(_) => return Err(during(DriverError::ReadsOnly)),
            Inner::Postgres(it) => {
                let inserted = run::insert(it, (self.into, self.then), self.rows);
                return Box::pin(inserted).await.map_err(during);
            }
        };
        // Without numbers: SQLite looks a numbered parameter up in all that came before it.
        let length = self.into.len() + 3 * COLUMNS + self.then.len();
        let mut text = String::with_capacity(length + " VALUES ()".len());
        text.push_str(self.into);
        text.push_str(" VALUES (?");
        (1..COLUMNS).for_each(|_| text.push_str(", ?"));
        text.push(')');
        text.push_str(self.then);
        held.within().and_then(|it| inline::run_each(it, &text, self.rows)).map_err(during)
    }
}

/// A statement that writes once for each row of values, which its text calls `$1`, `$2`, …
pub fn each<'a, const COLUMNS: usize, R>(
    text: impl Into<Sql>,
    rows: R,
) -> Each<COLUMNS, R::IntoIter>
where
    R: IntoIterator<Item = [Arg<'a>; COLUMNS]>,
{
    Each { text: text.into(), rows: rows.into_iter() }
}

/// See [`each`].
#[derive(Debug)]
#[must_use = "statements do nothing before they are run"]
pub struct Each<const COLUMNS: usize, R> {
    text: Sql,
    rows: R,
}

impl<'a, const COLUMNS: usize, R: Iterator<Item = [Arg<'a>; COLUMNS]>> Each<COLUMNS, R> {
    /// Answers for each row of values how many rows it has written.
    pub async fn run(self, tx: &mut Tx) -> Result<Vec<u64>, StoreError> {
        if let Inner::Writing(it) = &tx.inner {
            return it
                .within()
                .and_then(|it| inline::run_numbered(it, self.text.text, self.rows))
                .map_err(StoreError::during(name(self.text.text)));
        }
        let mut written = Vec::with_capacity(self.rows.size_hint().0);
        for row in self.rows {
            // In a box: a caller that works with SQLite need not have room for it.
            written.push(Box::pin(statement(self.text, row).run(&mut *tx)).await?);
        }
        Ok(written)
    }

    /// Answers for each row of values the row that it finds, where there is one.
    pub async fn find(self, tx: &mut Tx) -> Result<Vec<Option<Row>>, StoreError> {
        let mut found = Vec::with_capacity(self.rows.size_hint().0);
        for row in self.rows {
            found.push(statement(self.text, row).optional(&mut *tx).await?);
        }
        Ok(found)
    }
}

fn statement<const COLUMNS: usize>(text: Sql, values: [Arg<'_>; COLUMNS]) -> Statement<'_> {
    let mut statement = sql(text);
    statement.arguments = values.into();
    statement
}
