//! Runs statements on PostgreSQL.

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;
use sqlx::{Arguments as _, AssertSqlSafe, Postgres as Driver};

use super::super::arg::Arg;
use super::super::purpose::Purpose;
use super::super::row::Row;
use super::super::writers::Writers;
use super::pool::Server;
use super::primary::Primary;
use super::sqlstate::is_lost;
use super::text;
use super::tx::{Open, begin};
use crate::store::error::DriverError;

/// Tries of a statement that is a transaction by itself, after deadlocks and serialization failures.
const TRIES: usize = 5;

/// What runs a statement.
#[derive(Debug)]
pub enum On<'a> {
    Pool(&'a Server, Purpose),
    /// The statement is a transaction by itself.
    Writer(&'a Server, Writers),
    Tx(&'a mut Open),
}

/// A statement, as PostgreSQL is told it.
#[derive(Debug, Clone, Copy)]
pub struct Said<'s> {
    pub text: &'s Cow<'static, str>,
    pub arguments: &'s [Arg<'s>],
}

/// What is wanted of a statement.
#[derive(Debug, Clone, Copy)]
pub enum Want {
    Rows,
    FirstRow,
    Number,
}

#[derive(Debug, Default)]
pub struct Done {
    pub rows: Vec<Row>,
    pub written: u64,
}

impl On<'_> {
    /// Runs a statement. In a box: a caller that works with SQLite need not have room for it.
    pub fn run<'s>(
        self,
        statement: Said<'s>,
        want: Want,
    ) -> BoxFuture<'s, Result<Done, DriverError>>
    where
        Self: 's,
    {
        Box::pin(async move {
            match self {
                Self::Pool(server, _) => read(server, statement, want).await,
                Self::Writer(server, writers) => alone(server, writers, statement, want).await,
                Self::Tx(open) => {
                    let done = run(open.within()?, statement, want).await;
                    open.has_failed |= done.is_err();
                    done
                }
            }
        })
    }
}

impl Open {
    /// Rows one by one. A failure ends the transaction, whatever its COMMIT would answer.
    pub fn stream<'t>(
        &'t mut self,
        statement: Said<'_>,
    ) -> BoxStream<'t, Result<Row, DriverError>> {
        if self.has_failed {
            return stream::once(async { Err(DriverError::RolledBack) }).boxed();
        }
        let has_failed = &mut self.has_failed;
        let given_up = Box::pin(self.primary.until_given_up());
        let rows = query(statement).fetch(&mut *self.tx);
        stream::unfold((rows, given_up), |(mut rows, mut given_up)| async move {
            let row = tokio::select! {
                biased;
                row = rows.next() => row?,
                error = &mut given_up => Err(error),
            };
            Some((row, (rows, given_up)))
        })
        .map(move |row| {
            *has_failed |= row.is_err();
            Ok(Row::Postgres(row?))
        })
        .boxed()
    }
}

/// Runs a statement that reads. On a connection that turns out to be lost it has read nothing, and is run once more.
async fn read(server: &Server, statement: Said<'_>, want: Want) -> Result<Done, DriverError> {
    let once = || async {
        let mut connection = server.acquire().await?;
        run((&mut *connection, server.primary().as_ref()), statement, want).await
    };
    match once().await {
        Err(DriverError::Pooled(error)) if is_lost(&error) => once().await,
        done => done,
    }
}

/// Runs a statement that is a transaction by itself, under the lock of those who write.
async fn alone(
    server: &Server,
    writers: Writers,
    statement: Said<'_>,
    want: Want,
) -> Result<Done, DriverError> {
    let mut tries = 1;
    loop {
        let done = async {
            let mut open = begin(server, writers).await?;
            let done = run(open.within()?, statement, want).await?;
            open.commit().await.map(|()| done)
        };
        match done.await {
            Err(error) if tries < TRIES && error.is_in_the_way() => tries += 1,
            done => return done,
        }
    }
}

async fn run(
    (connection, primary): (&mut PgConnection, &Primary),
    statement: Said<'_>,
    want: Want,
) -> Result<Done, DriverError> {
    let query = query(statement);
    let done = async {
        Ok::<_, sqlx::Error>(match want {
            Want::Rows => {
                let rows = query.fetch_all(connection).await?;
                Done { rows: rows.into_iter().map(Row::Postgres).collect(), written: 0 }
            }
            Want::FirstRow => {
                let row = query.fetch_optional(connection).await?;
                Done { rows: row.into_iter().map(Row::Postgres).collect(), written: 0 }
            }
            Want::Number => {
                let written = query.execute(connection).await?.rows_affected();
                Done { rows: Vec::new(), written }
            }
        })
    };
    Ok(primary.unless_given_up(done).await?)
}

fn query(statement: Said<'_>) -> Query<'static, Driver, PgArguments> {
    let mut arguments = PgArguments::default();
    for argument in statement.arguments {
        add(argument, &mut arguments);
    }
    match statement.text {
        Cow::Borrowed(text) => sqlx::query_with(text::of_constant(text), arguments),
        Cow::Owned(text) => {
            let text = AssertSqlSafe(text::for_server(text).into_owned());
            sqlx::query_with(text, arguments).persistent(false)
        }
    }
}

fn add(argument: &Arg<'_>, arguments: &mut PgArguments) {
    let added = match argument {
        Arg::Integer(value) => arguments.add(*value),
        Arg::Flag(value) => arguments.add(*value),
        Arg::Text(value) => arguments.add(value.as_deref().map(without_nul)),
        Arg::Bytes(value) => arguments.add(value.as_deref()),
        Arg::Id(value) => arguments.add(value.as_ref().map(<[u8; 16]>::as_slice)),
        Arg::Texts(list) => arguments.add(values::<String>(list)),
        Arg::Integers(list) => arguments.add(values::<i64>(list)),
        Arg::Ids(list) => arguments.add(list.iter().map(<[u8; 16]>::as_slice).collect::<Vec<_>>()),
    };
    added.expect("the driver encodes these kinds without a failure");
}

/// The values of a list of our own.
fn values<T: serde::de::DeserializeOwned>(list: &str) -> Vec<T> {
    serde_json::from_str(list).expect("a list that was bound as one of this kind")
}

/// PostgreSQL's texts cannot hold the character U+0000, which a subject or a reply may well have.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Inserts rows by one statement, whose text is the same for every number of them.
pub async fn insert<'a, const COLUMNS: usize>(
    open: &mut Open,
    (into, then): (&'static str, &'static str),
    rows: impl Iterator<Item = [Arg<'a>; COLUMNS]>,
) -> Result<(), DriverError> {
    let mut columns: [Option<Column>; COLUMNS] = [const { None }; COLUMNS];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.get_or_insert_with(|| Column::of(&value)).push(value);
        }
    }
    let mut arguments = PgArguments::default();
    for column in columns {
        // Without a row there is no column.
        let Some(column) = column else { return Ok(()) };
        column.add_to(&mut arguments);
    }
    let numbers: Vec<String> = (1..=COLUMNS).map(|it| format!("${it}")).collect();
    let text = format!("{into} SELECT * FROM unnest({}){then}", numbers.join(", "));
    let (connection, primary) = open.within()?;
    let insert = sqlx::query_with(AssertSqlSafe(text), arguments).execute(connection);
    let inserted = primary.unless_given_up(insert).await;
    open.has_failed |= inserted.is_err();
    inserted?;
    Ok(())
}

/// All values of one column.
enum Column {
    Integers(Vec<Option<i64>>),
    Flags(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Column {
    /// A null has a kind, too.
    fn of(value: &Arg<'_>) -> Self {
        match value {
            Arg::Integer(_) => Self::Integers(Vec::new()),
            Arg::Flag(_) => Self::Flags(Vec::new()),
            Arg::Text(_) => Self::Texts(Vec::new()),
            Arg::Bytes(_) | Arg::Id(_) => Self::Bytes(Vec::new()),
            Arg::Texts(_) | Arg::Integers(_) | Arg::Ids(_) => unreachable!("a row holds no lists"),
        }
    }

    fn push(&mut self, value: Arg<'_>) {
        match (self, value) {
            (Self::Integers(all), Arg::Integer(value)) => all.push(value),
            (Self::Flags(all), Arg::Flag(value)) => all.push(value),
            (Self::Texts(all), Arg::Text(value)) => {
                all.push(value.map(|it| without_nul(&it).into_owned()));
            }
            (Self::Bytes(all), Arg::Bytes(value)) => all.push(value.map(Cow::into_owned)),
            (Self::Bytes(all), Arg::Id(value)) => all.push(value.map(Vec::from)),
            (_, other) => unreachable!("a column has one kind: {other:?}"),
        }
    }

    fn add_to(self, arguments: &mut PgArguments) {
        let added = match self {
            Self::Integers(all) => arguments.add(all),
            Self::Flags(all) => arguments.add(all),
            Self::Texts(all) => arguments.add(all),
            Self::Bytes(all) => arguments.add(all),
        };
        added.expect("the driver encodes these kinds without a failure");
    }
}
