//! A connection whose statements run on the thread that asks for them: no other thread is woken and none is waited
//! for. Where a statement may wait for the disk or for another process, the runtime gives the thread's other
//! work to another one. A small COMMIT on a quick disk is the exception (decision 0034).

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, Statement, ToSql};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

use super::arg::{Arg, hexadecimal};
use super::row::{InlineRow, Row};
use crate::store::error::DriverError;

/// How long a statement waits for the connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(30);
/// How long it waits for another process that writes.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Statements that stay prepared.
const PREPARED: usize = 256;
/// How long the other tasks of a thread may wait for a COMMIT that keeps the thread. What a COMMIT takes beyond is its delay.
const QUICK_COMMIT: Duration = Duration::from_millis(1);
/// After a delay, COMMITs give their threads away for so many times the delay, so delays take a fiftieth of the time at most.
const PAYBACK: u32 = 50;
/// While no more than this is left of that time, COMMITs keep their threads: 20 ms of delay are free.
const CREDIT: Duration = Duration::from_secs(1);
/// Length of the write-ahead log, in pages, at which a COMMIT is followed by a checkpoint.
pub const CHECKPOINT_PAGES: i32 = 4_000;

thread_local! {
    /// Whether the last COMMIT on this thread was followed by a checkpoint. SQLite passes no state of ours to its hook.
    static HAS_CHECKPOINTED: Cell<bool> = const { Cell::new(false) };
}
/// Whether the last checkpoint failed. Only the first failure in a row is logged.
static CHECKPOINT_FAILS: AtomicBool = AtomicBool::new(false);

/// One connection. Cheap to clone; whoever holds it is alone.
#[derive(Debug, Clone)]
pub struct Inline {
    open: Arc<Mutex<Option<Open>>>,
    access: Access,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    /// Until when COMMITs give their threads away to make up for delays, but for [`CREDIT`].
    paid_back_at: Instant,
}

#[derive(Debug, Clone, Copy)]
pub enum Access {
    Read,
    Write,
}

/// The connection in one hand. A transaction that is still open is rolled back where it is let go.
#[derive(Debug)]
pub struct Held {
    open: OwnedMutexGuard<Option<Open>>,
    access: Access,
}

/// How much a transaction has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// One message, whose body is small.
    Small,
    /// Anything else.
    Any,
}

impl Inline {
    /// Opens a file that exists.
    pub fn open(file: &Path, access: Access, pragmas: &str) -> Result<Self, DriverError> {
        let flags = match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let connection =
            Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(LOCK_WAIT)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        // Query planner stability: without it SQLite prepares a statement anew for each bound value that might match the
        // condition of a partial index.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(pragmas)?;
        if let Access::Write = access {
            // Replaces SQLite's automatic checkpoint, which would run on a thread that a COMMIT keeps.
            connection.wal_hook(Some(|log, pages| {
                checkpoint(log, pages);
                Ok(())
            }));
        }
        let open = Open { connection, paid_back_at: Instant::now() };
        Ok(Self { open: Arc::new(Mutex::new(Some(open))), access })
    }

    pub async fn hold(&self) -> Result<Held, DriverError> {
        let lock = Arc::clone(&self.open).lock_owned();
        let open = timeout(CONNECTION_WAIT, lock).await.map_err(|_| DriverError::Waited)?;
        Ok(Held { open, access: self.access })
    }

    /// Closes the connection; further statements are refused.
    pub async fn close(&self) {
        let Some(open) = self.open.lock().await.take() else { return };
        if let Err((_, error)) = waiting(|| open.connection.close()) {
            tracing::warn!(%error, "cannot close a database connection");
        }
    }
}

impl Held {
    /// The driver's own connection.
    pub fn connection(&self) -> Result<&Connection, DriverError> {
        self.open.as_ref().map(|it| &it.connection).ok_or(DriverError::Closed)
    }

    /// Begins a transaction that writes: it has the write lock from its start.
    pub fn begin(&self) -> Result<(), DriverError> {
        let connection = self.connection()?;
        let immediate = || connection.prepare_cached("BEGIN IMMEDIATE")?.raw_execute();
        connection.busy_timeout(Duration::ZERO)?;
        let begun = immediate();
        connection.busy_timeout(LOCK_WAIT)?;
        match begun {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                waiting(immediate)?;
            }
            begun => {
                begun?;
            }
        }
        Ok(())
    }

    /// Commits and waits for the disk. Meanwhile another thread runs the other tasks of this thread, unless the transaction
    /// is small and the disk has been quick.
    pub fn commit(mut self, size: Size) -> Result<(), DriverError> {
        let commit = || -> Result<(), DriverError> {
            self.within()?.prepare_cached("COMMIT")?.raw_execute()?;
            Ok(())
        };
        let begun = Instant::now();
        let paid_back_at = self.open.as_ref().map_or(begun, |it| it.paid_back_at);
        if size == Size::Any || paid_back_at > begun + CREDIT {
            return waiting(commit);
        }
        HAS_CHECKPOINTED.set(false);
        let committed = commit();
        let late = begun.elapsed().saturating_sub(QUICK_COMMIT);
        // A checkpoint takes most of the time of its COMMIT, and has delayed nobody: it gives the thread away.
        if !HAS_CHECKPOINTED.get()
            && let Some(open) = self.open.as_mut()
        {
            open.paid_back_at = paid_back_at.max(begun) + late * PAYBACK;
        }
        committed
    }

    /// The connection inside of a transaction. After a full disk or an I/O error SQLite has rolled it back by
    /// itself: what came now would be written outside of it.
    pub fn within(&self) -> Result<&Connection, DriverError> {
        let connection = self.connection()?;
        if connection.is_autocommit() { Err(DriverError::RolledBack) } else { Ok(connection) }
    }

    /// Runs one statement that is a transaction by itself.
    pub fn alone<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let connection = self.connection()?;
        match self.access {
            Access::Read => run(connection),
            Access::Write => waiting(|| run(connection)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let connection = self.open.as_ref().map(|it| &it.connection);
        let Some(connection) = connection.filter(|it| !it.is_autocommit()) else { return };
        if let Err(error) = connection.execute_batch("ROLLBACK") {
            tracing::warn!(%error, "cannot roll a database transaction back");
        }
    }
}

/// Runs a checkpoint once the write-ahead log is long. The COMMIT before it is durable already, so a failed checkpoint does
/// not fail the COMMIT.
fn checkpoint(log: &Wal, pages: i32) {
    if pages < CHECKPOINT_PAGES {
        return;
    }
    HAS_CHECKPOINTED.set(true);
    match waiting(|| log.checkpoint()) {
        Ok(()) => CHECKPOINT_FAILS.store(false, Ordering::Relaxed),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
        Err(error) => {
            if !CHECKPOINT_FAILS.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "checkpoint of the database failed; its write-ahead log grows until a checkpoint succeeds, which each commit tries");
            }
        }
    }
}

/// Does what may wait, on a thread that has nothing else to do meanwhile.
pub fn waiting<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|it| it.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// Runs a statement and answers at most `most` rows.
pub fn rows(
    connection: &Connection,
    text: &Text<'_>,
    arguments: &[Arg<'_>],
    most: usize,
) -> Result<Vec<Row>, DriverError> {
    let mut statement = text.prepare(connection)?;
    bind(&mut statement, arguments)?;
    let mut names: Option<Arc<[Box<str>]>> = None;
    let reads = statement.readonly();
    let mut found = statement.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        if rows.len() < most {
            let all = || row.as_ref().column_names().into_iter().map(Box::from).collect();
            rows.push(Row::Inline(InlineRow::read(names.get_or_insert_with(all), row)?));
        } else if reads {
            break;
        }
    }
    Ok(rows)
}

/// Runs a statement and answers how many rows it has written.
pub fn run(
    connection: &Connection,
    text: &Text<'_>,
    arguments: &[Arg<'_>],
) -> Result<u64, DriverError> {
    let mut statement = text.prepare(connection)?;
    bind(&mut statement, arguments)?;
    let mut found = statement.raw_query();
    while found.next()?.is_some() {}
    Ok(connection.changes())
}

/// Runs a statement once for each row of values.
pub fn run_each<'a, const COLUMNS: usize>(
    connection: &Connection,
    text: &str,
    rows: impl Iterator<Item = [Arg<'a>; COLUMNS]>,
) -> Result<(), DriverError> {
    let mut statement = connection.prepare_cached(text)?;
    for row in rows {
        for (index, value) in row.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value)?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

/// A statement's text: one that was put together is not kept prepared, for the next one is another one.
#[derive(Debug)]
pub enum Text<'a> {
    Constant(&'a str),
    Composed(&'a str),
}

enum Prepared<'a> {
    Kept(CachedStatement<'a>),
    Once(Statement<'a>),
}

impl Text<'_> {
    fn prepare<'a>(&self, connection: &'a Connection) -> rusqlite::Result<Prepared<'a>> {
        match self {
            Self::Constant(text) => connection.prepare_cached(text).map(Prepared::Kept),
            Self::Composed(text) => connection.prepare(text).map(Prepared::Once),
        }
    }
}

impl<'a> std::ops::Deref for Prepared<'a> {
    type Target = Statement<'a>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Kept(it) => it,
            Self::Once(it) => it,
        }
    }
}

impl std::ops::DerefMut for Prepared<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Kept(it) => it,
            Self::Once(it) => it,
        }
    }
}

/// Runs a statement once for each row of values, which its text calls `$1`, `$2`, …, and answers how many rows each
/// has written.
pub fn run_numbered<'a, const COLUMNS: usize>(
    connection: &Connection,
    text: &str,
    rows: impl Iterator<Item = [Arg<'a>; COLUMNS]>,
) -> Result<Vec<u64>, DriverError> {
    let mut statement = connection.prepare_cached(text)?;
    let numbers: Vec<usize> =
        (1..=statement.parameter_count()).map(|index| number(&statement, index)).collect();
    let mut written = Vec::with_capacity(rows.size_hint().0);
    for row in rows {
        for (index, number) in numbers.iter().enumerate() {
            let value = row
                .get(number - 1)
                .ok_or(rusqlite::Error::InvalidParameterCount(COLUMNS, *number))?;
            statement.raw_bind_parameter(index + 1, value)?;
        }
        let mut found = statement.raw_query();
        while found.next()?.is_some() {}
        drop(found);
        written.push(connection.changes());
    }
    Ok(written)
}

/// Binds `$n` to the nth value; SQLite itself numbers such names by their first place in the text.
///
/// # Errors
/// A parameter has no value: SQLite would take NULL for it without a word.
fn bind(statement: &mut Statement<'_>, arguments: &[Arg<'_>]) -> rusqlite::Result<()> {
    for index in 1..=statement.parameter_count() {
        let number = number(statement, index);
        let value = arguments
            .get(number - 1)
            .ok_or(rusqlite::Error::InvalidParameterCount(arguments.len(), number))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

/// Which `$n` a parameter is.
fn number(statement: &Statement<'_>, index: usize) -> usize {
    let name = statement.parameter_name(index);
    name.and_then(|name| name.get(1..)?.parse().ok()).unwrap_or(index)
}

impl ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Integer(value) => value.map(ValueRef::Integer),
            Self::Flag(value) => value.map(|it| ValueRef::Integer(it.into())),
            Self::Text(value) => value.as_ref().map(|it| ValueRef::Text(it.as_bytes())),
            Self::Bytes(value) => value.as_ref().map(|it| ValueRef::Blob(it)),
            Self::Id(value) => value.as_ref().map(|it| ValueRef::Blob(it)),
            Self::Texts(list) | Self::Integers(list) => Some(ValueRef::Text(list.as_bytes())),
            Self::Ids(list) => return Ok(ToSqlOutput::Owned(Value::Text(hexadecimal(list)))),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}

#[cfg(test)]
mod tests;
