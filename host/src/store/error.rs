//! Why an operation of the store failed.

use std::io;
use std::path::PathBuf;

use rusqlite::ffi;
use sqlx::migrate::MigrateError;

/// Codes of SQLite for a row that its table does not allow. A trigger's own refusal is none of them.
const CONSTRAINTS: [i32; 5] = [
    ffi::SQLITE_CONSTRAINT_UNIQUE,
    ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
    ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
    ffi::SQLITE_CONSTRAINT_NOTNULL,
    ffi::SQLITE_CONSTRAINT_CHECK,
];

const DAMAGE: [i32; 2] = [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB];

/// The error of a driver, or why it was not called.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A connection that runs its statements on the thread that asks.
    #[error(transparent)]
    Inline(#[from] rusqlite::Error),
    /// A connection of a pool.
    #[error(transparent)]
    Pooled(#[from] sqlx::Error),
    #[error("the one connection that writes was not free in time")]
    Waited,
    #[error("the database is closed")]
    Closed,
    /// A full disk, or an I/O error, which an earlier statement met.
    #[error("the database has rolled the transaction back")]
    RolledBack,
    /// The connection broke between the COMMIT and its answer.
    #[error(
        "whether the change was made is not known: the answer to its COMMIT did not come ({0}); look before you \
         repeat it"
    )]
    Unknown(sqlx::Error),
    /// None of the hosts can be written.
    #[error("no host in store.url is a primary that answers")]
    NoPrimary,
    /// A read failed for which several requests waited.
    #[error("a read that this request shared with others failed: {0}")]
    SharedRead(String),
    #[error("this transaction only reads")]
    ReadsOnly,
    #[error("there is no row")]
    NoRow,
    #[error("column {name} does not hold what it should")]
    Column { name: String },
}

impl DriverError {
    /// `serialization_failure` or `deadlock_detected`: others were in the way.
    #[must_use]
    pub fn is_in_the_way(&self) -> bool {
        matches!(self, Self::Pooled(sqlx::Error::Database(error))
            if error.code().is_some_and(|it| it == "40001" || it == "40P01"))
    }

    /// Whether SQLite has found that a file is damaged, or no database any more.
    fn is_damage(&self) -> bool {
        let code = if let Self::Inline(error) = self {
            error.sqlite_error().map(|it| it.extended_code)
        } else if let Self::Pooled(sqlx::Error::Database(error)) = self {
            // Codes of PostgreSQL have five characters.
            error.code().filter(|it| it.len() < 5).and_then(|it| it.parse().ok())
        } else {
            None
        };
        // What an extended code adds stands in its upper octets.
        code.is_some_and(|it: i32| DAMAGE.contains(&(it & 0xff)))
    }
}

/// What to do about a file that is damaged.
fn advice(error: &DriverError) -> &'static str {
    if error.is_damage() {
        ". The file of the database is damaged: keep a copy of the data directory, and restore the last backup; the disk or \
         the memory of this machine may be at fault"
    } else {
        ""
    }
}

/// Why the database of an earlier version was not converted. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    #[error(
        "the database {file} of an earlier version is converted at the first start, for which {needed} bytes must \
         be free on its disk, and {free} are; make room and start again"
    )]
    Disk { file: PathBuf, needed: u64, free: u64 },
    #[error(
        "the database {file} of an earlier version cannot be converted while another process has it open; end \
         that process and start again"
    )]
    InUse { file: PathBuf },
    #[error(
        "the database of an earlier version cannot be converted: table {table}, column {column} holds `{value}`, \
         which that version did not write there; correct the row, or restore a backup, and start again"
    )]
    Value { table: String, column: String, value: String },
    #[error(
        "the database of an earlier version was not converted: of {what} {before} the new file has {after}; run \
         the earlier version, and report this"
    )]
    Unequal { what: String, before: i64, after: i64 },
    #[error(
        "the database of an earlier version was not converted: the new file is damaged ({found}); look at the disk \
         and start again"
    )]
    Damaged { found: String },
    #[error(
        "the database was not converted: {path} is still there; end what has the database open and start again"
    )]
    Left { path: PathBuf },
    #[error("the database was not converted: {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("the database of an earlier version was not converted: {0}")]
    Database(#[from] rusqlite::Error),
}

/// Why the server of a database cannot be worked with. None of them shows a password.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "store.url is not an address of a database; write it as in \
         postgres://user:password@database.example.com:5432/waxwing"
    )]
    Url,
    #[error("the database server ({server}) cannot be reached: {source}")]
    Unreachable { server: String, source: sqlx::Error },
    #[error("the database server ({server}) is PostgreSQL {version}; Waxwing needs 15 or later")]
    Old { server: String, version: String },
    #[error("the database ({server}) has the encoding {encoding}; make one with ENCODING 'UTF8'")]
    Encoding { server: String, encoding: String },
    #[error(
        "the database server ({server}) is a standby, which cannot be written; promote it, or name the primary in \
         store.url"
    )]
    Standby { server: String },
    #[error("no host in store.url is a primary that can be worked with: {reasons}")]
    NoPrimary { reasons: String },
    #[error(
        "this version takes away (migration {migration}) what nodes of earlier versions work with, and these nodes live: \
         {nodes}; stop them, and start this one then. A node that was killed counts until its node.hold_s is over. \
         Nothing was changed"
    )]
    Contracts { migration: i64, nodes: String },
    #[error(
        "this version takes away (migration {migration}) what nodes without migration {needed} work with, and these \
         nodes live: {nodes}; let each of them, one after the other, run a version between theirs and this one that \
         has migration {needed}, or stop them all, and start this one then. A node that was killed counts until its \
         node.hold_s is over. Nothing was changed"
    )]
    Skips { migration: i64, needed: i64, nodes: String },
    #[error(
        "the tables could not be changed, because other transactions have had them in use for {seconds} s ({source}); \
         look in pg_stat_activity for a transaction that has been open for long (a dump, a report), end it, and start \
         again. Nothing was changed"
    )]
    InUse { seconds: u64, source: sqlx::Error },
    #[error(
        "a change of the tables takes longer than sends of the other nodes may wait for it ({source}); stop all nodes, \
         and start this one then: while it is alone a change has as long as it takes. Nothing was changed"
    )]
    Long { source: sqlx::Error },
    #[error(
        "the user of store.url may not make tables in the database ({server}): {source}; make it the database's owner, \
         or run `waxwing nodes` of this version as the owner first"
    )]
    Rights { server: String, source: sqlx::Error },
    #[error(
        "the user of store.url may not use the tables that the database ({server}) has: {source}; grant it USAGE on their \
         schema, and the rights on tables and sequences that packaging/postgres/roles.sql names"
    )]
    Grants { server: String, source: sqlx::Error },
}

/// Why a database was not moved into another one, or cannot be worked with because of a move.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A fault of this version of the server.
    #[error("SQLite and PostgreSQL differ in {what}; nothing was moved; report this")]
    Unlike { what: String },
    #[error(
        "{name} is no store of this version of Waxwing; start this version's server with it once, stop the server, and \
         try again"
    )]
    Outdated { name: String },
    #[error(
        "{name} has data already (table {table}); move into an empty database. What an earlier move left behind is not \
         empty: move that file away, or drop that database and create it anew"
    )]
    Filled { name: String, table: String },
    #[error("another `waxwing migrate` is filling {name}; let it finish, or stop it")]
    Another { name: String },
    #[error(
        "{name} is half of a move from another installation; drop it, or finish that move, and try again"
    )]
    Other { name: String },
    #[error(
        "this database was moved to {to} by `waxwing migrate`; start the server with that one, and look at [store] in \
         the configuration"
    )]
    Moved { to: String },
    #[error(
        "`waxwing migrate` is filling this database, or was interrupted; run the same command again until it has \
         finished, or start the server with the database that is moved"
    )]
    Half,
    #[error(
        "table {table}: the row with {row} {what}; the database that is moved is as it was; find out who wrote it, and run \
         the same command again"
    )]
    Row { table: String, row: String, what: &'static str },
    #[error(
        "table {table} has another digest in the filled database; run the same command again, and report this"
    )]
    Content { table: String },
    #[error("table {table}: the row with {row} was not read in the order of its key; report this")]
    Order { table: String, row: String },
}

/// The database did not do, or does not hold, what it should.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused, is not reachable, or is full.
    #[error("the database failed in {operation}: {source}{}", advice(source))]
    Database {
        operation: &'static str,
        /// The error of the database.
        source: DriverError,
    },
    /// A list took too long, or found no connection in time: those that sends need are never taken.
    #[error("{operation} took too long, or too many lists are read at this time")]
    Busy { operation: &'static str },
    /// A row that this version of the server cannot read.
    #[error("inconsistent data: table {table}, column {column}: `{value}`")]
    Inconsistent { table: &'static str, column: &'static str, value: String },
    /// The database's schema could not be brought up to date.
    #[error("the database schema could not be migrated: {0}")]
    Migrate(MigrateError),
    /// A migration was applied that this version of the server does not know, and cannot work with.
    #[error(
        "the database was written by a newer version of Waxwing (migration {migration}), and this version has changed \
         nothing in it; run the newer version, or go back: restore a backup from before the upgrade, or, on SQLite, put \
         in the place of the database the copy that the upgrade has kept beside it (waxwing.db.schema-…)"
    )]
    Newer { migration: i64 },
    /// The file is of an earlier version, and only the server may bring it up to date.
    #[error(
        "the database is of an earlier version of Waxwing, which the server brings up to date at its start; start \
         the server on this data directory, or wait until it listens, and try again"
    )]
    Earlier,
    /// No copy was made before an upgrade: without one nobody could go back.
    #[error(
        "the database was not brought up to date, and is as it was: the server keeps a copy of the database before that, \
         and could not make the copy ({path}: {source}); mend that and start again"
    )]
    NoCopy { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error("there is already a {noun} `{name}`")]
    Exists { noun: &'static str, name: String },
    #[error("there is no {noun} `{name}`")]
    Missing { noun: &'static str, name: String },
    #[error("the balance cannot go below zero")]
    NegativeBalance,
}

/// The migration that makes all tables: a database that has run one before it is of another schema.
pub const BASELINE_SCHEMA: i64 = 16;

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        if let MigrateError::VersionMissing(migration) = error {
            return match migration {
                ..BASELINE_SCHEMA => Self::Earlier,
                BASELINE_SCHEMA.. => Self::Newer { migration },
            };
        }
        Self::Migrate(error)
    }
}

impl StoreError {
    /// Adds the operation to the error of the database.
    pub fn during<E: Into<DriverError>>(operation: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Database { operation, source: source.into() }
    }

    /// Whether a list could not be read in time, although the store is well.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Whether the database was moved elsewhere: nothing that is written into it counts any more.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        matches!(self, Self::Transfer(TransferError::Moved { .. }))
    }

    /// Whether a newer version has changed the tables, and this one cannot work with them.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Newer { .. })
    }

    /// Whether the row is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Whether nobody knows if the transaction was written: the connection broke between its COMMIT and the answer.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Database { source: DriverError::Unknown(_), .. })
    }

    /// Whether other transactions were in the way of one: it has written nothing, and may be run again as it is.
    #[must_use]
    pub fn is_in_the_way(&self) -> bool {
        matches!(self, Self::Database { source, .. } if source.is_in_the_way())
    }

    /// Whether a constraint of the database, and not its health, is what refused.
    #[must_use]
    pub fn is_constraint(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        if let DriverError::Inline(error) = source {
            return error.sqlite_error().is_some_and(|it| CONSTRAINTS.contains(&it.extended_code));
        }
        // Class 23 of SQLSTATE: integrity constraint violation.
        matches!(source, DriverError::Pooled(sqlx::Error::Database(error))
            if error.code().is_some_and(|it| it.starts_with("23")))
    }
}
