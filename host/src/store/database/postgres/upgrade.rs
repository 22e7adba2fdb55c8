//! Brings the tables up to date beside nodes of other versions. Those nodes go on where a migration adds something; a
//! migration that takes something away is refused while a node lives that works with it. `migrations/README.md` says which
//! is which.

use std::time::{Duration, Instant};

use sqlx::migrate::{Migrate, MigrateError, Migration, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row as _};

use super::super::migrations::{needed, newest};
use super::sqlstate::{CANCELED, code};
use super::tx::{ALONE, BEGIN};
use crate::store::StoreError;
use crate::store::error::ServerError;

const TABLE: &str = "_sqlx_migrations";
/// How long a try waits for each lock, while all who want the same table, and all who want to write, wait behind it. This is
/// less than PostgreSQL's `deadlock_timeout` of 1 s: in a deadlock with a reader the migration gives way.
const LOCK_WAIT: Duration = Duration::from_millis(500);
/// How long migrations may work while other nodes live: those nodes write nothing meanwhile.
const WORK_TIME: Duration = Duration::from_secs(10);
/// The SQLSTATEs after which a migration is tried again: `lock_not_available`, `deadlock_detected` and
/// `serialization_failure`.
const IN_THE_WAY: [&str; 3] = ["55P03", "40P01", "40001"];
/// The pause between two tries, in which all who waited go on.
const PAUSE: Duration = Duration::from_secs(2);
/// For how long there are further tries.
const TRY_FOR: Duration = Duration::from_mins(1);

const IS_NEW: &str = "SELECT to_regclass('_sqlx_migrations') IS NULL AS is_new";
/// Earlier versions have no nodes.
const HAS_NODES: &str = "SELECT to_regclass('nodes') IS NOT NULL AS has_nodes";
const LIVE: &str = "SELECT name, version, migration FROM nodes
    WHERE state <> 'gone'
      AND seen_until > CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)
    ORDER BY name, id";
const APPLIED: &str =
    "SELECT version, checksum, description FROM _sqlx_migrations ORDER BY version";

/// A migration that a database has run.
#[derive(Debug)]
pub struct Applied {
    version: i64,
    checksum: Vec<u8>,
    description: String,
}

/// Runs the migrations that the database has not run. Of several programs that start at one time, one runs them. Where there
/// are none to run, the database's user needs no right to make tables.
///
/// # Errors
/// This program cannot work with the tables, a live node could not work with them afterwards, or the database failed; nothing
/// was changed.
pub async fn migrate(connection: &mut PgConnection, known: &Migrator) -> Result<(), StoreError> {
    let applied_before = applied(connection).await?;
    if !applied_before.is_empty() && pending(known, &applied_before)?.is_empty() {
        return Ok(());
    }
    connection.lock().await?;
    connection.ensure_migrations_table(TABLE).await?;
    if let Some(version) = connection.dirty_version(TABLE).await? {
        return Err(MigrateError::Dirty(version).into());
    }
    let applied = applied(connection).await?;
    let pending = pending(known, &applied)?;
    if !pending.is_empty() {
        run(connection, &pending).await?;
    }
    Ok(connection.unlock().await?)
}

/// The migrations that the database has run; none where it is new.
pub async fn applied(connection: &mut PgConnection) -> Result<Vec<Applied>, StoreError> {
    let row = sqlx::query(IS_NEW).fetch_one(&mut *connection).await.map_err(failed)?;
    if row.try_get("is_new").map_err(failed)? {
        return Ok(Vec::new());
    }
    let rows = sqlx::query_as::<_, (i64, Vec<u8>, String)>(APPLIED).fetch_all(connection).await;
    let rows = rows.map_err(failed)?.into_iter();
    let of = |(version, checksum, description)| Applied { version, checksum, description };
    Ok(rows.map(of).collect())
}

/// The migrations that the database has not run.
///
/// # Errors
/// The database has run a migration that the program does not know and cannot work with, or another text of one that the
/// program has.
pub fn pending<'a>(
    known: &'a Migrator,
    applied: &[Applied],
) -> Result<Vec<&'a Migration>, StoreError> {
    let newest = newest(known);
    for it in applied {
        match known.iter().find(|own| own.version == it.version) {
            Some(own) if *own.checksum != *it.checksum => {
                return Err(MigrateError::VersionMismatch(it.version).into());
            }
            // An unknown migration with a lower number than this program's newest comes from another branch.
            None if it.version < newest || needed(it.version, &it.description) > newest => {
                return Err(StoreError::Newer { migration: it.version });
            }
            Some(_) | None => {}
        }
    }
    let is_pending = |own: &&Migration| applied.iter().all(|it| it.version != own.version);
    Ok(known.iter().filter(is_pending).collect())
}

/// Refuses to run migrations while a node lives that cannot work with the tables after them. Answers how many nodes live.
pub async fn refuse_beside_others(
    connection: &mut PgConnection,
    pending: &[&Migration],
) -> Result<usize, StoreError> {
    let row = sqlx::query(HAS_NODES).fetch_one(&mut *connection).await.map_err(failed)?;
    if !row.try_get::<bool, _>("has_nodes").map_err(failed)? {
        return Ok(0);
    }
    let live = sqlx::query_as::<_, (String, String, i64)>(LIVE).fetch_all(connection).await;
    let live = live.map_err(failed)?;
    let needs = pending.iter().map(|it| (needed(it.version, &it.description), it.version));
    let (needed, migration) = needs.max().unwrap_or_default();
    let others = live.iter().filter(|(_, _, newest)| *newest < needed);
    let others = others.map(|(name, version, _)| format!("{name} (Waxwing {version})"));
    let nodes = others.collect::<Vec<_>>().join(", ");
    if nodes.is_empty() {
        Ok(live.len())
    } else if needed < migration {
        Err(ServerError::Skips { migration, needed, nodes }.into())
    } else {
        Err(ServerError::Contracts { migration, nodes }.into())
    }
}

/// Runs migrations, and tries again where other transactions hold the tables.
async fn run(connection: &mut PgConnection, pending: &[&Migration]) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let source = match run_once(connection, pending).await {
            Err(StoreError::Migrate(
                MigrateError::Execute(it) | MigrateError::ExecuteMigration(it, _),
            )) => it,
            done => return done,
        };
        let code = code(&source).unwrap_or_default();
        if code == CANCELED {
            return Err(ServerError::Long { source }.into());
        }
        if !IN_THE_WAY.contains(&code.as_str()) {
            return Err(failed(source));
        }
        if begun.elapsed() > TRY_FOR {
            return Err(ServerError::InUse { seconds: begun.elapsed().as_secs(), source }.into());
        }
        tracing::warn!(error = %source, "the tables are in use and could not be changed; trying again in 2 s");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Runs all of these migrations, or none: a start that is refused has changed nothing.
async fn run_once(connection: &mut PgConnection, pending: &[&Migration]) -> Result<(), StoreError> {
    let mut tx = connection.begin_with(BEGIN).await.map_err(failed)?;
    bound(&mut tx, "lock_timeout", LOCK_WAIT).await?;
    // Nobody else writes until the end: no node that could not work with the new tables registers or renews, and no writer
    // holds a table that a migration waits for.
    sqlx::query(ALONE).execute(&mut *tx).await.map_err(failed)?;
    let is_alone = refuse_beside_others(&mut tx, pending).await? == 0;
    let begun = Instant::now();
    for migration in pending {
        if !is_alone {
            // PostgreSQL times each statement: those of the next migration get what is left, and 0 would be no bound.
            let left = WORK_TIME.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            bound(&mut tx, "statement_timeout", left).await?;
        }
        tx.apply(TABLE, migration).await?;
    }
    tx.commit().await.map_err(failed)
}

/// Sets a time-out for the statements of a transaction.
async fn bound(
    connection: &mut PgConnection,
    setting: &'static str,
    time: Duration,
) -> Result<(), StoreError> {
    let set = sqlx::query("SELECT set_config($1, $2, TRUE)").bind(setting);
    let set = set.bind(time.as_millis().to_string()).execute(connection).await;
    set.map(|_| ()).map_err(failed)
}

fn failed(error: sqlx::Error) -> StoreError {
    MigrateError::Execute(error).into()
}
