//! What the store holds open: connections by purpose, and transactions.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Sqlite as Driver, Transaction};

use super::inline::{CHECKPOINT_PAGES, Held, Inline, Size};
use super::postgres::pool::Server;
use super::postgres::{run, sqlstate, tx};
use super::purpose::Purpose;
use super::writers::Writers;
use crate::store::error::DriverError;
use crate::store::{StoreError, embedded};

/// `SQLITE_INTERRUPT`: the time of a list is over.
const INTERRUPTED: &str = "9";

/// What the store holds open, by purpose.
#[derive(Debug, Clone)]
pub struct Database {
    /// One connection: whoever writes is alone, so what a transaction reads stays true until it commits.
    pub writer: Single,
    /// Where they need not be alone, several write beside each other. To a file it is the same one connection.
    pub beside: Single,
    pub readers: Connections,
    /// One connection that reads the revision, and whether there is work for webhooks: a request that is to be
    /// authenticated never waits for long queries on `readers`.
    pub revisions: Single,
    /// Reads of the delivery queue, and of the bodies of leased messages. Each statement finds its rows by an index, so that
    /// to a file one connection on the thread that asks is enough.
    pub deliveries: Single,
    /// For lists: what an operator or an account looks through holds up nobody's send.
    pub pages: Connections,
    /// The newest migration that this program has for a database of this kind.
    pub migration: i64,
}

/// One connection.
#[derive(Debug, Clone)]
pub enum Single {
    /// To a file: its statements run on the thread that asks.
    Inline(Inline),
    /// To a server, for what is read.
    Reading(Server),
    /// To a server, for what is written: each statement is a transaction like those of [`Database::begin`].
    Writing(Server, Writers),
}

/// Connections of one purpose.
#[derive(Debug, Clone)]
pub struct Connections {
    pool: Pool,
    purpose: Purpose,
}

#[derive(Debug, Clone)]
pub enum Pool {
    Sqlite(SqlitePool),
    Postgres(Server),
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
    Postgres(tx::Open),
}

/// What runs a statement.
#[derive(Debug)]
pub enum On<'a> {
    Inline(&'a Inline),
    Pool(&'a SqlitePool, Purpose),
    Writing(&'a mut Held),
    Reading(&'a mut Transaction<'static, Driver>),
    Postgres(run::On<'a>),
}

impl Database {
    /// Begins a transaction that writes. It holds the write lock from its start: what it reads stays true
    /// until it commits. `TRANSACTIONS.md` says for each name why it relies on that.
    pub async fn begin(&self, name: &'static str) -> Result<Tx, StoreError> {
        start(&self.writer, name, Writers::Alone).await
    }

    /// Begins a transaction that writes beside others which begin so, and beside no other one. What it reads stays true
    /// where it has locked the row; `TRANSACTIONS.md` says for each name why that is enough.
    pub async fn begin_beside(&self, name: &'static str) -> Result<Tx, StoreError> {
        start(&self.beside, name, Writers::Beside).await
    }

    /// Waits for all transactions that write now: the rows of several that write beside each other are numbered before
    /// they are there to be read, and in another order. A file has one writer, so there is nothing to wait for.
    pub async fn wait_for_writers(&self, name: &'static str) -> Result<(), StoreError> {
        if self.file().is_some() {
            return Ok(());
        }
        self.begin(name).await?.rollback().await
    }

    /// Refuses at once where the database has not been reachable for some time: every transaction would be refused, too.
    pub fn look(&self, name: &'static str) -> Result<(), StoreError> {
        let looked = self.revisions.server().map_or(Ok(()), Server::look);
        looked.map_err(StoreError::during(name))
    }

    /// Begins a transaction that only reads: all of its statements see one state of the database.
    pub async fn snapshot(&self, name: &'static str) -> Result<Tx, StoreError> {
        let begun = match &self.readers.pool {
            Pool::Sqlite(it) => it.begin().await.map(Inner::Reading).map_err(DriverError::Pooled),
            Pool::Postgres(it) => Box::pin(tx::snapshot(it)).await.map(Inner::Postgres),
        };
        Ok(Tx { inner: begun.map_err(StoreError::during(name))?, name })
    }

    /// The connections to a file, where the database is one: for what only a file has, its pages and its log.
    pub fn file(&self) -> Option<&SqlitePool> {
        match &self.readers.pool {
            Pool::Sqlite(it) => Some(it),
            Pool::Postgres(_) => None,
        }
    }

    /// Follows the primary among the hosts of a server for ever. Ends at once where the database is a file.
    pub async fn watch_primary(&self) {
        let singles = [&self.writer, &self.beside, &self.revisions].map(Single::server);
        let pools = [&self.readers, &self.pages].map(Connections::server);
        let servers: Vec<&Server> = singles.into_iter().chain(pools).flatten().collect();
        let Some(first) = servers.first() else { return };
        let watched =
            first.primary().watch(|host| servers.iter().for_each(|it| it.connect_to(host)));
        Box::pin(watched).await;
    }

    pub async fn close(&self) {
        self.revisions.close().await;
        self.deliveries.close().await;
        self.pages.close().await;
        self.readers.close().await;
        self.beside.close().await;
        // The last one checkpoints the write-ahead log into the file.
        self.writer.close().await;
    }
}

/// Begins a transaction on the connection of those that write so.
async fn start(
    connection: &Single,
    name: &'static str,
    writers: Writers,
) -> Result<Tx, StoreError> {
    let held = match connection {
        Single::Inline(it) => it.hold().await.map_err(StoreError::during(name))?,
        Single::Reading(it) | Single::Writing(it, _) => {
            let begun = Box::pin(tx::begin(it, writers)).await.map_err(StoreError::during(name))?;
            return Ok(Tx { inner: Inner::Postgres(begun), name });
        }
    };
    held.begin().map_err(StoreError::during(name))?;
    Ok(Tx { inner: Inner::Writing(held), name })
}

impl Connections {
    pub fn new(pool: Pool, purpose: Purpose) -> Self {
        Self { pool, purpose }
    }

    fn server(&self) -> Option<&Server> {
        match &self.pool {
            Pool::Sqlite(_) => None,
            Pool::Postgres(it) => Some(it),
        }
    }

    async fn close(&self) {
        match &self.pool {
            Pool::Sqlite(it) => it.close().await,
            Pool::Postgres(it) => it.close().await,
        }
    }

    /// The driver's own connections to a file.
    #[cfg(test)]
    pub fn pool(&self) -> &SqlitePool {
        match &self.pool {
            Pool::Sqlite(it) => it,
            Pool::Postgres(_) => unreachable!("this test is about a file"),
        }
    }
}

impl Single {
    fn server(&self) -> Option<&Server> {
        match self {
            Self::Inline(_) => None,
            Self::Reading(it) | Self::Writing(it, _) => Some(it),
        }
    }

    async fn close(&self) {
        match self {
            Self::Inline(it) => it.close().await,
            Self::Reading(it) | Self::Writing(it, _) => it.close().await,
        }
    }

    /// The driver's own connection to a file.
    #[cfg(test)]
    pub async fn hold(&self) -> Result<Held, DriverError> {
        match self {
            Self::Inline(it) => it.hold().await,
            Self::Reading(_) | Self::Writing(..) => unreachable!("this test is about a file"),
        }
    }
}

impl Tx {
    /// Whether nobody else writes until it ends.
    pub fn is_alone(&self) -> bool {
        match &self.inner {
            Inner::Writing(_) => true,
            Inner::Reading(_) => false,
            Inner::Postgres(it) => it.is_alone,
        }
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        self.commit_sized(Size::Any).await
    }

    pub async fn commit_sized(self, size: Size) -> Result<(), StoreError> {
        match self.inner {
            Inner::Writing(held) => held.commit(size),
            Inner::Reading(tx) => tx.commit().await.map_err(DriverError::Pooled),
            Inner::Postgres(tx) => Box::pin(tx.commit()).await,
        }
        .map_err(StoreError::during(self.name))
    }

    /// Ends a transaction that has written nothing.
    pub async fn rollback(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Writing(held) => drop(held),
            Inner::Reading(tx) => tx.rollback().await.map_err(StoreError::during(self.name))?,
            Inner::Postgres(tx) => {
                Box::pin(tx.rollback()).await.map_err(StoreError::during(self.name))?;
            }
        }
        Ok(())
    }
}

impl On<'_> {
    /// What to make of an error of the driver.
    pub fn error(&self, operation: &'static str) -> impl FnOnce(DriverError) -> StoreError + use<> {
        let is_list = match self {
            Self::Pool(_, purpose) => matches!(purpose, Purpose::Lists),
            Self::Postgres(it) => matches!(it, run::On::Pool(_, Purpose::Lists)),
            Self::Inline(_) | Self::Writing(_) | Self::Reading(_) => false,
        };
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

impl<'a> From<&'a Single> for On<'a> {
    fn from(connection: &'a Single) -> Self {
        match connection {
            Single::Inline(it) => Self::Inline(it),
            Single::Reading(it) => Self::Postgres(run::On::Pool(it, Purpose::Work)),
            Single::Writing(it, writers) => Self::Postgres(run::On::Writer(it, *writers)),
        }
    }
}

impl<'a> From<&'a Connections> for On<'a> {
    fn from(connections: &'a Connections) -> Self {
        let purpose = connections.purpose;
        match &connections.pool {
            Pool::Sqlite(it) => Self::Pool(it, purpose),
            Pool::Postgres(it) => Self::Postgres(run::On::Pool(it, purpose)),
        }
    }
}

impl<'a> From<&'a mut Tx> for On<'a> {
    fn from(tx: &'a mut Tx) -> Self {
        match &mut tx.inner {
            Inner::Writing(it) => Self::Writing(it),
            Inner::Reading(it) => Self::Reading(it),
            Inner::Postgres(it) => Self::Postgres(run::On::Tx(it)),
        }
    }
}

/// How the file is opened.
pub fn options(file: &Path) -> SqliteConnectOptions {
    embedded::options(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .pragma("journal_size_limit", "67108864")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
        .statement_cache_capacity(256)
}

/// Whether a list took too long, or found no connection in time.
pub fn is_out_of_time(error: &sqlx::Error) -> bool {
    let is_interrupted = matches!(error, sqlx::Error::Database(error)
        if error.code().is_some_and(|code| code == INTERRUPTED || code == sqlstate::CANCELED));
    is_interrupted || matches!(error, sqlx::Error::PoolTimedOut)
}
