//! Transactions on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Postgres as Driver, Transaction};

use super::super::writers::Writers;
use super::pool::Server;
use super::primary::{Primary, no_answer};
use super::sqlstate::code;
use crate::store::error::DriverError;

/// The isolation level is said: a database or a user may have another one as their default.
pub const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// The lock of those who write, within one database. Whoever asks for it waits behind those who asked before, however
/// little the two would be in each other's way: who wants it alone comes to it under any load (decision 0067).
pub const ALONE: &str = "SELECT pg_advisory_xact_lock(7023767254913049)";
const BESIDE: &str = "SELECT pg_advisory_xact_lock_shared(7023767254913049)";
/// A COMMIT that takes longer waits for a synchronous standby that is gone, or for a disk: nobody knows then what becomes
/// of the transaction.
const COMMIT_WAIT: Duration = Duration::from_secs(20);
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A transaction that is open.
#[derive(Debug)]
pub struct Open {
    pub(super) tx: Transaction<'static, Driver>,
    /// One of its statements failed: PostgreSQL answers its COMMIT with a rollback, and with no error.
    pub(super) has_failed: bool,
    pub(super) primary: Arc<Primary>,
    /// Whether nobody else writes while it does.
    pub is_alone: bool,
}

/// Begins a transaction that writes.
pub async fn begin(server: &Server, writers: Writers) -> Result<Open, DriverError> {
    let mut tx = server.begin(BEGIN).await?;
    let lock = match writers {
        Writers::Alone => ALONE,
        Writers::Beside => BESIDE,
    };
    // Not in one message with the BEGIN: whoever gives up waiting for the lock would leave a connection behind of which
    // the driver does not know that it is within a transaction.
    let primary = Arc::clone(server.primary());
    primary.unless_given_up(sqlx::query(lock).execute(&mut *tx)).await?;
    Ok(Open { tx, has_failed: false, primary, is_alone: writers == Writers::Alone })
}

/// Begins one that only reads one state of the database.
pub async fn snapshot(server: &Server) -> Result<Open, DriverError> {
    let primary = Arc::clone(server.primary());
    Ok(Open { tx: server.begin(SNAPSHOT).await?, has_failed: false, primary, is_alone: false })
}

impl Open {
    /// Commits. Where the connection breaks meanwhile, or no answer comes, nobody knows whether it did.
    pub async fn commit(self) -> Result<(), DriverError> {
        if self.has_failed {
            return Err(DriverError::RolledBack);
        }
        let Self { tx, primary, .. } = self;
        let committed =
            tokio::time::timeout(COMMIT_WAIT, primary.unless_given_up(tx.commit())).await;
        committed.unwrap_or_else(|_| Err(no_answer())).map_err(|error| {
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
        let Self { tx, primary, .. } = self;
        Ok(primary.unless_given_up(tx.rollback()).await?)
    }

    /// Its connection, as long as none of its statements has failed, and the primary that it is to.
    pub fn within(&mut self) -> Result<(&mut PgConnection, &Primary), DriverError> {
        if self.has_failed {
            Err(DriverError::RolledBack)
        } else {
            Ok((&mut *self.tx, &self.primary))
        }
    }
}
