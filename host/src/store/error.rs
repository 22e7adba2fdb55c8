//! Why an operation of the store failed.

use sqlx::migrate::MigrateError;

/// The database did not do, or does not hold, what it should.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused, is not reachable, or is full.
    #[error("the database failed in {operation}: {source}")]
    Database {
        operation: &'static str,
        /// What the database said.
        source: sqlx::Error,
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
    /// A migration was applied that this version of the server does not know.
    #[error(
        "the database was written by a newer version of Waxwing (migration {migration}); run that version, or \
         restore the backup from before the upgrade"
    )]
    Newer { migration: i64 },
    #[error("there is already a {noun} `{name}`")]
    Exists { noun: &'static str, name: String },
    #[error("there is no {noun} `{name}`")]
    Missing { noun: &'static str, name: String },
    #[error("the balance cannot go below zero")]
    NegativeBalance,
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        if let MigrateError::VersionMissing(migration) = error {
            return Self::Newer { migration };
        }
        Self::Migrate(error)
    }
}

impl StoreError {
    /// Adds what was being done to what the database said.
    pub fn during(operation: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database { operation, source }
    }

    /// Whether a list could not be read in time, although the store is well.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Whether what was asked for is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Whether a constraint of the database, and not its health, is what refused.
    #[must_use]
    pub fn is_constraint(&self) -> bool {
        if let Self::Database { source: sqlx::Error::Database(error), .. } = self {
            return !matches!(error.kind(), sqlx::error::ErrorKind::Other);
        }
        false
    }
}
