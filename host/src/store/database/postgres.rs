//! PostgreSQL: whoever writes takes one lock first and keeps it until the end of the transaction, so what a transaction
//! reads stays true until it commits, as with SQLite's one writer (decision 0064). The few transactions that each message
//! needs share the lock with each other (decision 0067).

mod hosts;
pub mod pool;
mod primary;
pub mod run;
pub mod sqlstate;
mod text;
pub mod tx;
mod upgrade;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sqlx::migrate::{AppliedMigration, Migrate, MigrateError};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Row};

use self::hosts::{hosts, named};
use self::pool::Server;
use self::primary::Primary;
use self::sqlstate::code;
use super::connections::{Connections, Database, Pool, Single};
use super::migrations;
use super::purpose::Purpose;
use super::transfer::marks;
use super::writers::Writers;
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
/// Connections of those that write beside each other: who commits, who leases, who settles, and one more. A transaction
/// that is alone has another one, on which it waits for the lock without taking theirs.
const BESIDE_WRITERS: u32 = 4;
/// How long one that reads waits for its connection. A request is answered 503 then.
const READ_WAIT: Duration = Duration::from_secs(5);
/// How long a host may take until a connection to it is there.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);
/// How long one that writes waits for a connection that writes: beside others, and alone.
const BESIDE_WAIT: Duration = Duration::from_secs(10);
const ALONE_WAIT: Duration = Duration::from_secs(30);
/// A list may take five seconds.
const LISTS: &str = "SET statement_timeout = 5000; SET default_transaction_read_only = on";
const READS: &str = "SET default_transaction_read_only = on";
/// For sessions that hold a lock. A writer waits 30 s for the lock. Keepalives and the idle time-out end the session of
/// a client that is gone, which releases the lock; no transaction of ours waits for anything but the database.
const WRITES: &str = "SET lock_timeout = 30000; SET idle_in_transaction_session_timeout = 8000; \
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

/// Connects to the primary, and brings the schema up to date.
pub async fn open(url: &str) -> Result<Database, StoreError> {
    let hosts = hosts(url)?;
    let (at, mut connection) = connect(&hosts).await?;
    let host = hosts.get(at).ok_or(ServerError::Url)?.clone();
    upgrade::refuse_beside_others(&mut connection).await?;
    migrate(&mut connection, &host).await?;
    connection.close().await.map_err(StoreError::during("open"))?;
    let primary = Arc::new(Primary::new(hosts, at));
    let server =
        |connections, wait, settings| Server::new(&primary, &host, (connections, wait, settings));
    let of = |server, purpose| Connections::new(Pool::Postgres(server), purpose);
    Ok(Database {
        writer: Single::Writing(server(1, ALONE_WAIT, WRITES), Writers::Alone),
        beside: Single::Writing(server(BESIDE_WRITERS, BESIDE_WAIT, WRITES), Writers::Beside),
        readers: of(server(READERS, READ_WAIT, READS), Purpose::Work),
        revisions: Single::Reading(server(REVISION_READERS, READ_WAIT, READS)),
        pages: of(server(PAGE_READERS, PAGE_WAIT, LISTS), Purpose::Lists),
    })
}

/// Whether the server can be reached, and its database be brought up to date. Changes nothing.
pub async fn check(url: &str) -> Result<(), StoreError> {
    let during = || StoreError::during("check");
    let (_, mut connection) = connect(&hosts(url)?).await?;
    let applied = applied(&mut connection).await?;
    if applied.is_empty() {
        return Ok(());
    }
    let known = known();
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

/// A session of its own with the primary, and the name of the primary and its database, without a password.
pub async fn session(url: &str) -> Result<(PgConnection, String), StoreError> {
    let hosts = hosts(url)?;
    let (at, connection) = connect(&hosts).await?;
    Ok((connection, hosts.get(at).map(named).unwrap_or_default()))
}

/// All hosts of a URL and the database in words, without a password.
pub fn name_of(url: &str) -> Result<String, StoreError> {
    Ok(hosts(url)?.iter().map(named).collect::<Vec<_>>().join(", "))
}

/// Connects to the primary, and answers its place among the hosts: the first host that can be worked with. One that does
/// not answer holds up nothing.
async fn connect(hosts: &[PgConnectOptions]) -> Result<(usize, PgConnection), StoreError> {
    let all = hosts.iter().enumerate();
    let mut connecting: FuturesUnordered<_> =
        all.map(|(at, host)| async move { (at, connect_to(host).await) }).collect();
    let mut refused = Vec::with_capacity(hosts.len());
    while let Some((at, connected)) = connecting.next().await {
        match connected {
            Ok(connection) => return Ok((at, connection)),
            Err(error) => refused.push((at, error)),
        }
    }
    if hosts.len() == 1
        && let Some((_, error)) = refused.pop()
    {
        return Err(error);
    }
    refused.sort_unstable_by_key(|(at, _)| *at);
    let reasons: Vec<String> = refused.iter().map(|(_, error)| error.to_string()).collect();
    Err(ServerError::NoPrimary { reasons: reasons.join("; ") }.into())
}

/// Connects, and looks whether this server and this database can be worked with.
async fn connect_to(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
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

/// Brings the tables up to date. Where nothing is to be done nothing is tried: whoever serves need not be who may make
/// tables.
async fn migrate(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    if is_current(connection).await? {
        return Ok(());
    }
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

/// Whether all migrations of this version, and no other ones, were applied as this version has them.
async fn is_current(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let (known, applied) = (known(), applied(connection).await?);
    let is_known =
        |it: &AppliedMigration| known.get(&it.version).is_some_and(|own| **own == *it.checksum);
    Ok(applied.len() == known.len() && applied.iter().all(is_known))
}

/// The migrations of this version, by their number, each with its checksum.
fn known() -> BTreeMap<i64, &'static [u8]> {
    migrations::POSTGRES.iter().map(|it| (it.version, &*it.checksum)).collect()
}

/// The migrations that a database has had; none where it is new.
async fn applied(connection: &mut PgConnection) -> Result<Vec<AppliedMigration>, StoreError> {
    let during = || StoreError::during("migrations");
    let is_new = "SELECT to_regclass('_sqlx_migrations') IS NULL AS is_new";
    let row = sqlx::query(is_new).fetch_one(&mut *connection).await.map_err(during())?;
    if row.try_get("is_new").map_err(during())? {
        return Ok(Vec::new());
    }
    connection.list_applied_migrations("_sqlx_migrations").await.map_err(migration_error)
}

fn migration_error(error: MigrateError) -> StoreError {
    if let MigrateError::VersionMissing(migration) = error {
        return StoreError::Newer { migration };
    }
    StoreError::Migrate(error)
}
