//! Statements: a text whose first line is its name, and what is bound to it.

use std::borrow::Cow;
use std::fmt::Write as _;

use futures_util::{Stream, TryStreamExt as _};
use serde::Serialize;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Sqlite as Driver};

use super::arg::{Arg, IntoArg, to_json};
use super::{On, Row, Tx};
use crate::store::StoreError;

/// Values bound to one statement of [`inserts`]; SQLite takes up to 32,766.
const INSERTED_VALUES: usize = 3_000;

/// A statement, ready to run.
#[derive(Debug)]
#[must_use = "a statement does nothing before it is run"]
pub struct Statement {
    name: &'static str,
    text: Cow<'static, str>,
    arguments: SqliteArguments,
}

/// A statement. Its first line, `-- name`, names it in errors and in the tests of the query plans.
pub fn sql(text: &'static str) -> Statement {
    Statement { name: name(text), text: text.into(), arguments: SqliteArguments::default() }
}

fn name(text: &'static str) -> &'static str {
    text.strip_prefix("-- ").and_then(|it| it.lines().next()).unwrap_or("a statement")
}

impl Statement {
    /// Binds the next value: `$1`, `$2`, ….
    pub fn bind(mut self, value: impl IntoArg) -> Self {
        value.into_arg().add_to(&mut self.arguments);
        self
    }

    /// Binds values that the text has as `IN (SELECT value FROM json_each($n))`, and in no other words: where
    /// a database has arrays, that phrase is the one to replace.
    pub fn list<T: Serialize + ?Sized>(self, values: &T) -> Self {
        self.bind(to_json(values))
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
    pub fn push_bind(&mut self, value: impl IntoArg) -> &mut Self {
        value.into_arg().add_to(&mut self.arguments);
        let number = self.arguments.len();
        write!(self.text.to_mut(), "${number}").expect("a string takes everything");
        self
    }

    /// All rows.
    pub async fn all(self, on: impl Into<On<'_>>) -> Result<Vec<Row>, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Connections(it) => self.query().fetch_all(&it.pool).await,
            On::Tx(it) => self.query().fetch_all(&mut *it.inner).await,
        }
        .map_err(error)
    }

    /// The only row.
    pub async fn one(self, on: impl Into<On<'_>>) -> Result<Row, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Connections(it) => self.query().fetch_one(&it.pool).await,
            On::Tx(it) => self.query().fetch_one(&mut *it.inner).await,
        }
        .map_err(error)
    }

    /// The only row, where there is one.
    pub async fn optional(self, on: impl Into<On<'_>>) -> Result<Option<Row>, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Connections(it) => self.query().fetch_optional(&it.pool).await,
            On::Tx(it) => self.query().fetch_optional(&mut *it.inner).await,
        }
        .map_err(error)
    }

    /// Rows one by one: whoever has enough of them stops.
    pub fn stream(self, tx: &mut Tx) -> impl Stream<Item = Result<Row, StoreError>> {
        let name = self.name;
        let rows = self.query().fetch(&mut *tx.inner);
        rows.map_err(move |source| StoreError::Database { operation: name, source })
    }

    /// Answers how many rows it has written.
    pub async fn run(self, on: impl Into<On<'_>>) -> Result<u64, StoreError> {
        let on = on.into();
        let error = on.error(self.name);
        match on {
            On::Connections(it) => self.query().execute(&it.pool).await,
            On::Tx(it) => self.query().execute(&mut *it.inner).await,
        }
        .map(|done| done.rows_affected())
        .map_err(error)
    }

    /// A text that was put together is not kept prepared: the next one is another one.
    fn query(self) -> Query<'static, Driver, SqliteArguments> {
        match self.text {
            Cow::Borrowed(text) => sqlx::query_with(text, self.arguments),
            Cow::Owned(text) => {
                sqlx::query_with(AssertSqlSafe(text), self.arguments).persistent(false)
            }
        }
    }
}

/// Statements that insert rows, many each. `into` is all up to the values, `then` what follows them.
pub fn inserts<const COLUMNS: usize>(
    into: &'static str,
    rows: impl IntoIterator<Item = [Arg; COLUMNS]>,
    then: &'static str,
) -> Inserts {
    let most = INSERTED_VALUES / COLUMNS;
    // Without numbers: SQLite looks a numbered parameter up in all that came before it.
    let values = format!("({})", ["?"; COLUMNS].join(", "));
    let mut rows = rows.into_iter().peekable();
    let mut statements = Vec::new();
    while rows.peek().is_some() {
        let mut statement = sql(into);
        let text = statement.text.to_mut();
        for (index, row) in rows.by_ref().take(most).enumerate() {
            text.push_str(if index == 0 { " VALUES " } else { ", " });
            text.push_str(&values);
            for value in row {
                value.add_to(&mut statement.arguments);
            }
        }
        text.push_str(then);
        statements.push(statement);
    }
    Inserts(statements)
}

/// See [`inserts`]: none where there are no rows.
#[derive(Debug)]
#[must_use = "statements do nothing before they are run"]
pub struct Inserts(Vec<Statement>);

impl Inserts {
    pub async fn run(self, tx: &mut Tx) -> Result<(), StoreError> {
        for statement in self.0 {
            statement.run(&mut *tx).await?;
        }
        Ok(())
    }
}
