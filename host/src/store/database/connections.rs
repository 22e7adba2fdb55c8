//! What the store holds open: connections by purpose, and transactions.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Sqlite as Driver, Transaction};

use super::inline::{Held, Inline};
use crate::store::StoreError;
use crate::store::error::DriverError;

/// `SQLITE_INTERRUPT`: the time of a list is over.
const INTERRUPTED: &str = "9";

/// What the store holds open, by purpose.
#[derive(Debug, Clone)]
pub struct Database {
    /// One connection: whoever writes is alone, so what a transaction reads stays true until it commits.
    pub writer: Inline,
    pub readers: Connections,
    /// One connection that reads the revision, and whether there is work for webhooks: a request that is to be
    /// authenticated never waits for long queries on `readers`.
    pub revisions: Inline,
    /// For lists: what an operator or an account looks through holds up nobody's send.
    pub pages: Connections,
}

/// Connections of one purpose.
#[derive(Debug, Clone)]
pub struct Connections {
    pool: SqlitePool,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    Work,
    /// Pages of lists. One that takes too long is [`StoreError::Busy`], not a database fault.
    Lists,
}

/// A transaction. It is rolled back where it is dropped before [`Tx::commit`].
#[derive(Debug)]
pub struct Tx {
    pub inner: Inner,
    name: &'static str,
}

#[derive(Debug)]
pub enum Inner {
    Writing(Held),
    Reading(Transaction<'static, Driver>),
}

/// What runs a statement.
#[derive(Debug)]
pub enum On<'a> {
    Inline(&'a Inline),
    Connections(&'a Connections),
    Tx(&'a mut Tx),
}

impl Database {
    /// Begins a transaction that writes. It holds the write lock from its start: what it reads stays true
    /// until it commits. `TRANSACTIONS.md` says for each name why it relies on that.
    pub async fn begin(&self, name: &'static str) -> Result<Tx, StoreError> {
        let held = self.writer.hold().await.map_err(StoreError::during(name))?;
        held.begin().map_err(StoreError::during(name))?;
        Ok(Tx { inner: Inner::Writing(held), name })
    }

    /// Begins a transaction that only reads: all of its statements see one state of the database.
    pub async fn snapshot(&self, name: &'static str) -> Result<Tx, StoreError> {
        let begun = self.readers.pool.begin().await;
        Ok(Tx { inner: Inner::Reading(begun.map_err(StoreError::during(name))?), name })
    }

    pub async fn close(&self) {
        self.revisions.close().await;
        self.pages.pool.close().await;
        self.readers.pool.close().await;
        // The last one checkpoints the write-ahead log into the file.
        self.writer.close().await;
    }
}

impl Connections {
    pub fn new(pool: SqlitePool, purpose: Purpose) -> Self {
        Self { pool, purpose }
    }

    /// The driver's own connections, for what is SQLite's alone: the pages of its file, and tests.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }
}

impl Tx {
    pub async fn commit(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Writing(held) => held.commit(),
            Inner::Reading(tx) => tx.commit().await.map_err(DriverError::Pooled),
        }
        .map_err(StoreError::during(self.name))
    }

    /// Ends a transaction that has written nothing.
    pub async fn rollback(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Writing(held) => drop(held),
            Inner::Reading(tx) => tx.rollback().await.map_err(StoreError::during(self.name))?,
        }
        Ok(())
    }
}

impl On<'_> {
    /// What to make of an error of the driver.
    pub fn error(&self, operation: &'static str) -> impl FnOnce(DriverError) -> StoreError + use<> {
        let is_list =
            matches!(self, Self::Connections(Connections { purpose: Purpose::Lists, .. }));
        move |source| {
            if let DriverError::Pooled(error) = &source
                && is_list
                && is_out_of_time(error)
            {
                return StoreError::Busy { operation };
            }
            StoreError::Database { operation, source }
        }
    }
}

impl<'a> From<&'a Inline> for On<'a> {
    fn from(connection: &'a Inline) -> Self {
        Self::Inline(connection)
    }
}

impl<'a> From<&'a Connections> for On<'a> {
    fn from(connections: &'a Connections) -> Self {
        Self::Connections(connections)
    }
}

impl<'a> From<&'a mut Tx> for On<'a> {
    fn from(tx: &'a mut Tx) -> Self {
        Self::Tx(tx)
    }
}

/// How the file is opened.
pub fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .pragma("journal_size_limit", "67108864")
        .pragma("wal_autocheckpoint", "4000")
        .statement_cache_capacity(256)
}

/// Whether a list took too long, or found no connection in time.
pub fn is_out_of_time(error: &sqlx::Error) -> bool {
    let is_interrupted = matches!(error, sqlx::Error::Database(error)
        if error.code().is_some_and(|code| code == INTERRUPTED));
    is_interrupted || matches!(error, sqlx::Error::PoolTimedOut)
}
