//! Transactions on PostgreSQL.

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{Postgres as Driver, Transaction};

use crate::store::error::DriverError;

/// `query_canceled`: the time of a list is over.
pub const CANCELED: &str = "57014";
/// The isolation level is said: a database or a user may have another one as their default.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// The lock of those who write, within one database.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7023767254913049)";
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A transaction that is open.
#[derive(Debug)]
pub struct Open {
    pub(super) tx: Transaction<'static, Driver>,
    /// One of its statements failed: PostgreSQL answers its COMMIT with a rollback, and with no error.
    pub(super) has_failed: bool,
}

/// Begins a transaction that writes, alone among all that do.
pub async fn begin(pool: &PgPool) -> Result<Open, DriverError> {
    let mut tx = pool.begin_with(BEGIN).await?;
    // Not in one message with the BEGIN: whoever gives up waiting for the lock would leave a connection behind of which
    // the driver does not know that it is within a transaction.
    sqlx::query(LOCK).execute(&mut *tx).await?;
    Ok(Open { tx, has_failed: false })
}

/// Begins one that only reads one state of the database.
pub async fn snapshot(pool: &PgPool) -> Result<Open, DriverError> {
    Ok(Open { tx: pool.begin_with(SNAPSHOT).await?, has_failed: false })
}

impl Open {
    /// Commits. Where the connection breaks meanwhile nobody knows whether it did.
    pub async fn commit(self) -> Result<(), DriverError> {
        if self.has_failed {
            return Err(DriverError::RolledBack);
        }
        self.tx.commit().await.map_err(|error| {
            // A SQLSTATE means that COMMIT failed, as by a deferred constraint, and nothing was written. Class 57 is the
            // exception: a server that shuts down may have written the transaction before.
            if code(&error).is_some_and(|it| !it.starts_with("57")) {
                DriverError::Pooled(error)
            } else {
                DriverError::Unknown(error)
            }
        })
    }

    pub async fn rollback(self) -> Result<(), DriverError> {
        Ok(self.tx.rollback().await?)
    }

    /// Its connection, as long as none of its statements has failed.
    pub fn within(&mut self) -> Result<&mut PgConnection, DriverError> {
        if self.has_failed { Err(DriverError::RolledBack) } else { Ok(&mut *self.tx) }
    }
}

/// The SQLSTATE of an error.
pub fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).map(Into::into)
}
