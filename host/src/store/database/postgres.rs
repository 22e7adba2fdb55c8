//! PostgreSQL, for one or several servers: whoever writes takes one lock first and keeps it until the end of the
//! transaction, so what a transaction reads stays true until it commits, as with SQLite's one writer (decision 0064).

pub mod run;
mod text;
pub mod tx;
mod upgrade;

use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, Executor, Row};

use self::tx::code;
use super::connections::{Connections, Database, Pool, Single};
use super::migrations;
use super::purpose::Purpose;
use super::transfer::marks;
use crate::store::StoreError;
use crate::store::error::ServerError;

#[cfg(test)]
pub use text::for_server;

/// PostgreSQL 15, as `server_version_num` says it.
const OLDEST: i32 = 150_000;
/// Connections that read for sends and deliveries.
const READERS: u32 = 4;
/// Connections that read the revision, and whether there is work for webhooks.
const REVISION_READERS: u32 = 2;
/// Connections that read lists, and the metrics: never those that sends need.
const PAGE_READERS: u32 = 3;
/// How long a list waits for one of them.
const PAGE_WAIT: Duration = Duration::from_secs(2);
/// How long a connection may take to be there.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);
/// How long one that writes waits for the connection that writes.
const WRITER_WAIT: Duration = Duration::from_secs(30);
/// Statements that stay prepared on a connection.
const PREPARED: usize = 256;
/// A list may take five seconds.
const LISTS: &str = "SET statement_timeout = 5000; SET default_transaction_read_only = on";
const READS: &str = "SET default_transaction_read_only = on";
/// For sessions that hold a lock. A writer waits 30 s for the lock; keepalives and the idle time-out end the session of
/// a client that is gone, which releases the lock.
const WRITES: &str = "SET lock_timeout = 30000; SET idle_in_transaction_session_timeout = 60000; \
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

/// Connects to the server, and brings the schema up to date.
pub async fn open(url: &str) -> Result<Database, StoreError> {
    let options = options(url)?;
    let mut connection = connect(&options).await?;
    upgrade::refuse_beside_others(&mut connection).await?;
    migrate(&mut connection, &options).await?;
    connection.close().await.map_err(StoreError::during("open"))?;
    let pool = |connections, wait, settings: &'static str| {
        PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(wait)
            .after_connect(move |connection, _| {
                Box::pin(async move { connection.execute(settings).await.map(|_| ()) })
            })
            .connect_lazy_with(options.clone())
    };
    let of = |pool, purpose| Connections::new(Pool::Postgres(pool), purpose);
    Ok(Database {
        writer: Single::Writing(pool(1, WRITER_WAIT, WRITES)),
        readers: of(pool(READERS, CONNECTION_WAIT, READS), Purpose::Work),
        revisions: Single::Reading(pool(REVISION_READERS, CONNECTION_WAIT, READS)),
        pages: of(pool(PAGE_READERS, PAGE_WAIT, LISTS), Purpose::Lists),
    })
}

/// Whether the server can be reached, and its database be brought up to date. Changes nothing.
pub async fn check(url: &str) -> Result<(), StoreError> {
    let during = || StoreError::during("check");
    let mut connection = connect(&options(url)?).await?;
    let is_new = "SELECT to_regclass('_sqlx_migrations') IS NULL AS is_new";
    let row = sqlx::query(is_new).fetch_one(&mut connection).await.map_err(during())?;
    if row.try_get("is_new").map_err(during())? {
        return Ok(());
    }
    let known: BTreeMap<i64, &[u8]> =
        migrations::POSTGRES.iter().map(|it| (it.version, &*it.checksum)).collect();
    let applied = connection.list_applied_migrations("_sqlx_migrations").await;
    let applied = applied.map_err(migration_error)?;
    if applied.is_empty() {
        return Ok(());
    }
    for it in applied {
        match known.get(&it.version) {
            None => return Err(StoreError::Newer { migration: it.version }),
            Some(checksum) if **checksum != *it.checksum => {
                return Err(StoreError::Migrate(MigrateError::VersionMismatch(it.version)));
            }
            Some(_) => {}
        }
    }
    match sqlx::query(marks::ALL).fetch_optional(&mut connection).await.map_err(during())? {
        Some(mark) => {
            let name: String = mark.try_get("name").map_err(during())?;
            Err(marks::refusal(&name, mark.try_get("value").map_err(during())?))
        }
        None => Ok(()),
    }
}

pub fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(url).map_err(|_| ServerError::Url)?;
    // Statements are logged nowhere: they hold addresses.
    Ok(options
        .application_name("waxwing")
        .statement_cache_capacity(PREPARED)
        .disable_statement_logging())
}

/// Connects, and looks whether this server and this database can be worked with.
pub async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let unreachable = |source| ServerError::Unreachable { server: named(options), source };
    let timeout = tokio::time::timeout(CONNECTION_WAIT, options.connect()).await;
    let late = || unreachable(io::Error::from(io::ErrorKind::TimedOut).into());
    let mut connection = timeout.map_err(|_| late())?.map_err(unreachable)?;
    let about = "SELECT CAST(current_setting('server_version_num') AS INTEGER) AS number,
            current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
            pg_is_in_recovery() AS is_standby";
    let row = sqlx::query(about).fetch_one(&mut connection).await.map_err(unreachable)?;
    let read = |error: sqlx::Error| StoreError::during("open")(error);
    let number: i32 = row.try_get("number").map_err(read)?;
    let encoding: String = row.try_get("encoding").map_err(read)?;
    if number < OLDEST {
        let version = row.try_get("version").map_err(read)?;
        return Err(ServerError::Old { server: named(options), version }.into());
    }
    if encoding != "UTF8" {
        return Err(ServerError::Encoding { server: named(options), encoding }.into());
    }
    if row.try_get("is_standby").map_err(read)? {
        return Err(ServerError::Standby { server: named(options) }.into());
    }
    Ok(connection)
}

/// A server and a database in words, without a password.
pub fn named(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let is_open = matches!(options.get_ssl_mode(), PgSslMode::Disable);
    let tls = if is_open { " without TLS" } else { "" };
    format!("{host}:{}, database {database}{tls}", options.get_port())
}

async fn migrate(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    let denied = |error: &sqlx::Error| code(error).is_some_and(|it| it == "42501");
    match migrations::POSTGRES.run(&mut *connection).await {
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _))
            if denied(&error) =>
        {
            Err(ServerError::Rights { server: named(options), source: error }.into())
        }
        migrated => migrated.map_err(migration_error),
    }
}

fn migration_error(error: MigrateError) -> StoreError {
    if let MigrateError::VersionMissing(migration) = error {
        return StoreError::Newer { migration };
    }
    StoreError::Migrate(error)
}
