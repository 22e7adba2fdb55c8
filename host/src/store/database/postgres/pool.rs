//! Connections of one purpose to the primary. One that is of no use any more is closed before anybody gets it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection, Executor, Postgres as Driver, Transaction};
use tokio::time::timeout;

use super::primary::{Primary, role};
use super::sqlstate::is_lost;
use crate::store::error::DriverError;

/// How long a connection that was not used for [`RECENT`] may take to answer before somebody gets it, and any one when it
/// comes back: a host that is gone without a word would hold it for a quarter of an hour.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Not asked again: what was used just now is most likely still there, and who writes tries once more.
const RECENT: Duration = Duration::from_secs(1);

/// A pool. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    pool: PgPool,
    primary: Arc<Primary>,
}

impl Server {
    /// Up to `connections`, for each of which somebody waits no longer than `wait`, made with these settings when they
    /// are first needed.
    pub fn new(
        primary: &Arc<Primary>,
        host: &PgConnectOptions,
        (connections, wait, settings): (u32, Duration, &'static str),
    ) -> Self {
        let [made, before, after] = [(); 3].map(|()| Arc::clone(primary));
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(wait)
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let primary = Arc::clone(&made);
                Box::pin(async move { prepare(connection, settings, &primary).await })
            })
            .before_acquire(move |connection, about| {
                let is_trusted = before.trusts(about.age);
                Box::pin(async move {
                    Ok(is_trusted && (about.idle_for < RECENT || answers(connection).await))
                })
            })
            .after_release(move |connection, about| {
                let is_trusted = after.trusts(about.age);
                Box::pin(async move { Ok(is_trusted && answers(connection).await) })
            })
            .connect_lazy_with(host.clone());
        Self { pool, primary: Arc::clone(primary) }
    }

    pub fn primary(&self) -> &Arc<Primary> {
        &self.primary
    }

    /// Connects to another host from now on.
    pub fn connect_to(&self, host: &PgConnectOptions) {
        self.pool.set_connect_options(host.clone());
    }

    pub async fn acquire(&self) -> Result<PoolConnection<Driver>, DriverError> {
        self.look()?;
        Ok(self.pool.acquire().await?)
    }

    /// Begins a transaction. A connection that turns out to be lost is replaced once: nothing has run on it.
    pub async fn begin(
        &self,
        statement: &'static str,
    ) -> Result<Transaction<'static, Driver>, DriverError> {
        self.look()?;
        let begin = || self.primary.unless_given_up(self.pool.begin_with(statement));
        match begin().await {
            Err(error) if is_lost(&error) => {
                // Once the primary is given up no connection of the pool becomes usable: a second wait would be in vain.
                self.look()?;
                Ok(begin().await?)
            }
            first => Ok(first?),
        }
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Refuses where no host has been a primary for some time.
    pub fn look(&self) -> Result<(), DriverError> {
        if self.primary.is_missing() { Err(DriverError::NoPrimary) } else { Ok(()) }
    }
}

/// Makes a new connection one of its pool. A standby cannot be written, and what is read there is late; what is written to
/// an old primary is lost.
async fn prepare(
    connection: &mut PgConnection,
    settings: &'static str,
    primary: &Primary,
) -> Result<(), sqlx::Error> {
    Executor::execute(&mut *connection, settings).await?;
    if primary.accepts(role(connection).await?) {
        Ok(())
    } else {
        Err(io::Error::other("the host is a standby, or an old primary").into())
    }
}

async fn answers(connection: &mut PgConnection) -> bool {
    matches!(timeout(ANSWER_WAIT, connection.ping()).await, Ok(Ok(())))
}
