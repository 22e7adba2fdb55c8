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

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Executor, Row};

use self::hosts::{hosts, named};
use self::pool::Server;
use self::primary::{Primary, Timeline, timeline};
use self::sqlstate::code;
use super::connections::{Connections, Database, Pool, Single};
use super::migrations::{POSTGRES, newest};
use super::purpose::Purpose;
use super::transfer::marks;
use super::writers::Writers;
use crate::store::StoreError;
use crate::store::error::ServerError;

#[cfg(test)]
pub use text::for_server;

/// The SQLSTATEs of a user who lacks a right: `insufficient_privilege`, and `invalid_schema_name` where the schema is hidden.
const DENIED: [&str; 2] = ["42501", "3F000"];
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
/// How long the hosts that have not answered are waited for once one is there that can be worked with: it may be an old
/// primary beside one that was promoted since.
const OTHERS_WAIT: Duration = Duration::from_millis(500);
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

/// For the session that migrates, after [`WRITES`]: another start may hold the migrations' lock for minutes.
const MIGRATES: &str = "SET lock_timeout = 0";

/// Connects to the primary, and brings the schema up to date with these migrations.
pub async fn open(url: &str, migrations: &Migrator) -> Result<Database, StoreError> {
    let hosts = hosts(url)?;
    let Found { at, timeline, mut connection } = connect(&hosts).await?;
    let host = hosts.get(at).ok_or(ServerError::Url)?.clone();
    for settings in [WRITES, MIGRATES] {
        let set = Executor::execute(&mut connection, settings).await;
        set.map_err(StoreError::during("open"))?;
    }
    migrate(&mut connection, migrations, &host).await?;
    connection.close().await.map_err(StoreError::during("open"))?;
    let primary = Arc::new(Primary::new(hosts, (at, timeline)));
    let server =
        |connections, wait, settings| Server::new(&primary, &host, (connections, wait, settings));
    let of = |server, purpose| Connections::new(Pool::Postgres(server), purpose);
    let readers = server(READERS, READ_WAIT, READS);
    Ok(Database {
        writer: Single::Writing(server(1, ALONE_WAIT, WRITES), Writers::Alone),
        beside: Single::Writing(server(BESIDE_WRITERS, BESIDE_WAIT, WRITES), Writers::Beside),
        deliveries: Single::Reading(readers.clone()),
        readers: of(readers, Purpose::Work),
        revisions: Single::Reading(server(REVISION_READERS, READ_WAIT, READS)),
        pages: of(server(PAGE_READERS, PAGE_WAIT, LISTS), Purpose::Lists),
        migration: newest(migrations),
    })
}

/// Whether the server can be reached, and its database be brought up to date by the user of the URL. Changes nothing.
pub async fn check(url: &str) -> Result<(), StoreError> {
    let during = || StoreError::during("check");
    let hosts = hosts(url)?;
    let Found { at, mut connection, .. } = connect(&hosts).await?;
    let host = hosts.get(at).ok_or(ServerError::Url)?;
    let applied = upgrade::applied(&mut connection).await?;
    if applied.is_empty() {
        return may_make_tables(&mut connection, host).await;
    }
    let pending = upgrade::pending(&POSTGRES, &applied)?;
    if !pending.is_empty() {
        may_make_tables(&mut connection, host).await?;
    }
    upgrade::refuse_beside_others(&mut connection, &pending).await?;
    match sqlx::query(marks::ALL).fetch_optional(&mut connection).await.map_err(during())? {
        Some(mark) => {
            let name: String = mark.try_get("name").map_err(during())?;
            Err(marks::refusal(&name, mark.try_get("value").map_err(during())?))
        }
        None => Ok(()),
    }
}

/// What is noted under a name, whatever the version of the tables. Changes nothing.
pub async fn noted(url: &str, name: &str) -> Result<Option<String>, StoreError> {
    let during = || StoreError::during("noted");
    let mut connection = connect(&hosts(url)?).await?.connection;
    let table = sqlx::query("SELECT 1 WHERE to_regclass('upkeep') IS NOT NULL");
    if table.fetch_optional(&mut connection).await.map_err(during())?.is_none() {
        return Ok(None);
    }
    let noted = sqlx::query_scalar("SELECT value FROM upkeep WHERE name = $1").bind(name);
    noted.fetch_optional(&mut connection).await.map_err(during())
}

/// A session of its own with the primary, and the name of the primary and its database, without a password.
pub async fn session(url: &str) -> Result<(PgConnection, String), StoreError> {
    let hosts = hosts(url)?;
    let Found { at, connection, .. } = connect(&hosts).await?;
    Ok((connection, hosts.get(at).map(named).unwrap_or_default()))
}

/// All hosts of a URL and the database in words, without a password.
pub fn name_of(url: &str) -> Result<String, StoreError> {
    Ok(hosts(url)?.iter().map(named).collect::<Vec<_>>().join(", "))
}

/// A host that can be worked with.
struct Found {
    /// Its place among the hosts.
    at: usize,
    timeline: Timeline,
    connection: PgConnection,
}

/// Connects to the primary: of the hosts that can be worked with the one that was promoted last. One that does not answer
/// holds up nothing for long.
async fn connect(hosts: &[PgConnectOptions]) -> Result<Found, StoreError> {
    let all = hosts.iter().enumerate();
    let mut connecting: FuturesUnordered<_> =
        all.map(|(at, host)| async move { (at, connect_to(host).await) }).collect();
    let mut refused = Vec::with_capacity(hosts.len());
    let mut found: Option<Found> = None;
    loop {
        let next = connecting.next();
        let answer = match found {
            Some(_) => tokio::time::timeout(OTHERS_WAIT, next).await.ok().flatten(),
            None => next.await,
        };
        let Some((at, connected)) = answer else { break };
        match connected {
            Ok((connection, timeline)) => {
                if found.as_ref().is_none_or(|it| it.timeline < timeline) {
                    found = Some(Found { at, timeline, connection });
                }
            }
            Err(error) => refused.push((at, error)),
        }
    }
    if let Some(found) = found {
        return Ok(found);
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
async fn connect_to(options: &PgConnectOptions) -> Result<(PgConnection, Timeline), StoreError> {
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
    let timeline = timeline(&mut connection).await.map_err(read)?;
    Ok((connection, timeline))
}

/// Brings the tables up to date.
async fn migrate(
    connection: &mut PgConnection,
    migrations: &Migrator,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    match upgrade::migrate(connection, migrations).await {
        Err(StoreError::Migrate(
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
        )) if is_denied(&error) => Err(denial(connection, options, error).await),
        migrated => migrated,
    }
}

/// Makes a table and rolls back: refuses a user who may not make tables.
async fn may_make_tables(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    let during = || StoreError::during("check");
    let mut tx = connection.begin().await.map_err(during())?;
    let made = sqlx::query("CREATE TABLE waxwing_check ()").execute(&mut *tx).await;
    tx.rollback().await.map_err(during())?;
    match made {
        Ok(_) => Ok(()),
        Err(error) if is_denied(&error) => Err(denial(connection, options, error).await),
        Err(error) => Err(during()(error)),
    }
}

fn is_denied(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|it| DENIED.contains(&&*it))
}

/// Which right the user lacks, after an error for want of a right. To a user who may not use the schema, a database with
/// tables looks new.
async fn denial(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
    source: sqlx::Error,
) -> StoreError {
    let server = named(options);
    let about =
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = '_sqlx_migrations') AS has_tables";
    let row = sqlx::query(about).fetch_one(connection).await;
    match row.and_then(|it| it.try_get("has_tables")) {
        Ok(true) => ServerError::Grants { server, source }.into(),
        Ok(false) => ServerError::Rights { server, source }.into(),
        Err(error) => StoreError::during("open")(error),
    }
}
