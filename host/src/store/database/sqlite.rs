//! SQLite: one file in WAL mode, `synchronous=FULL`, one writer, many readers.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::migrate::MigrateError;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::connections::{Connections, Database, Pool, Single, options};
use super::inline::{Access, Inline};
use super::purpose::Purpose;
use super::transfer::marks;
use super::{convert, migrations};
use crate::store::error::BASELINE_SCHEMA;
use crate::store::{StoreError, embedded};

pub const READERS: u32 = 4;
/// Connections that read lists, two of them at one time, and the metrics: never those that sends need.
pub const PAGE_READERS: u32 = 3;
/// How long a list waits for one of them.
const PAGE_WAIT: Duration = Duration::from_secs(2);
/// How long a list may hold one of them.
const PAGE_TIME: Duration = Duration::from_secs(5);
/// SQLite asks every so many steps of a statement whether the time is over.
const STEPS_BETWEEN_CHECKS: i32 = 1_000;

/// Further settings of a connection that writes. Without the last one SQLite keeps in a file what a statement that
/// fails would undo.
const WRITING: &str = "PRAGMA foreign_keys = ON;
    PRAGMA synchronous = FULL;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA temp_store = MEMORY;";

/// Opens the file, and makes it where it is missing. Refuses a file of an earlier version: a command may be opening the file
/// of a running server of that version, and no copy of the file was kept.
pub async fn open(file: &Path) -> Result<Database, StoreError> {
    let during = || StoreError::during("open");
    let options = options(file);
    if convert::is_under_way(file) {
        return Err(StoreError::Earlier);
    }
    embedded::begin_shrinkable(&options, file).await.map_err(during())?;
    if convert::earlier_schema(file)?.is_some() {
        return Err(StoreError::Earlier);
    }
    migrations::run(&migrations::CURRENT, &options).await?;
    let inline =
        |access, pragmas| Inline::open(file, access, pragmas).map_err(StoreError::during("open"));
    let writer = inline(Access::Write, WRITING)?;
    let revisions = inline(Access::Read, "")?;
    let deliveries = inline(Access::Read, "")?;
    let options = options.read_only(true).create_if_missing(false);
    let pool = |connections| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .connect_with(options.clone())
    };
    let readers = pool(READERS).await.map_err(during())?;
    let pages = page_readers(PAGE_TIME).connect_lazy_with(options);
    Ok(Database {
        beside: Single::Inline(writer.clone()),
        writer: Single::Inline(writer),
        readers: Connections::new(Pool::Sqlite(readers), Purpose::Work),
        revisions: Single::Inline(revisions),
        deliveries: Single::Inline(deliveries),
        pages: Connections::new(Pool::Sqlite(pages), Purpose::Lists),
        migration: migrations::newest(&migrations::CURRENT),
    })
}

/// Brings the schema of a file up to date.
pub async fn migrate(file: &Path) -> Result<(), StoreError> {
    migrations::run(&migrations::CURRENT, &options(file)).await
}

/// What is noted in a file under a name, whatever its version. Changes nothing.
pub async fn noted(file: &Path, name: &str) -> Result<Option<String>, StoreError> {
    let during = || StoreError::during("noted");
    let mut connection = look_into(file).await.map_err(during())?;
    let table = "SELECT 1 FROM sqlite_schema WHERE name = 'upkeep'";
    if sqlx::query(table).fetch_optional(&mut connection).await.map_err(during())?.is_none() {
        return Ok(None);
    }
    let noted = sqlx::query_scalar("SELECT value FROM upkeep WHERE name = $1").bind(name);
    noted.fetch_optional(&mut connection).await.map_err(during())
}

async fn look_into(file: &Path) -> Result<SqliteConnection, sqlx::Error> {
    // A file without a log is open nowhere; to read it as one that cannot change makes no log either.
    let log = file.with_extension("db-wal");
    let options = embedded::options(file).read_only(true);
    let options = if log.exists() { options } else { options.immutable(true) };
    options.connect().await
}

/// Whether a file is a database that [`open`] can open, or that a server can bring up to date before. Changes nothing.
pub async fn check(file: &Path) -> Result<(), StoreError> {
    let during = || StoreError::during("check");
    let mut connection = look_into(file).await.map_err(during())?;
    let tables = "SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'";
    if sqlx::query(tables).fetch_optional(&mut connection).await.map_err(during())?.is_none() {
        return Ok(());
    }
    let mut newest = 0;
    let applied = "SELECT version, checksum FROM _sqlx_migrations ORDER BY version";
    for row in sqlx::query(applied).fetch_all(&mut connection).await.map_err(during())? {
        let version: i64 = row.try_get("version").map_err(during())?;
        let checksum: Vec<u8> = row.try_get("checksum").map_err(during())?;
        let mut all = migrations::CURRENT.iter().chain(migrations::EARLIER.iter());
        let known = all.find(|it| it.version == version);
        let known = known.ok_or(MigrateError::VersionMissing(version))?;
        if *known.checksum != *checksum {
            return Err(MigrateError::VersionMismatch(version).into());
        }
        newest = version;
    }
    if newest == 0 {
        return Ok(());
    }
    if newest < BASELINE_SCHEMA {
        let used = sqlx::query(convert::USED_BYTES).fetch_one(&mut connection).await;
        let used: i64 = used.and_then(|row| row.try_get("bytes")).map_err(during())?;
        let used = u64::try_from(used).unwrap_or_default();
        convert::check_disk(file, used, embedded::free_disk(file))?;
        return Ok(());
    }
    match sqlx::query(marks::ALL).fetch_optional(&mut connection).await.map_err(during())? {
        Some(mark) => {
            let name: String = mark.try_get("name").map_err(during())?;
            Err(marks::refusal(&name, mark.try_get("value").map_err(during())?))
        }
        None => Ok(()),
    }
}

/// Writes one state of a file into a new one, which alone gets a note, made when the state is fixed. Answers the last migration of its schema.
pub async fn copy(
    file: &Path,
    into: &Path,
    noted: impl FnOnce() -> (&'static str, String),
) -> Result<i64, StoreError> {
    let during = || StoreError::during("copy");
    embedded::copy(file, into).await.map_err(during())?;
    let mut copy = embedded::options(into).connect().await.map_err(during())?;
    let note = "INSERT INTO upkeep (name, value) VALUES ($1, $2)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    let (name, value) = noted();
    let written = sqlx::query(note).bind(name).bind(value).execute(&mut copy).await;
    written.map_err(during())?;
    let schema = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations";
    let schema = sqlx::query_scalar(schema).fetch_one(&mut copy).await.map_err(during())?;
    copy.close().await.map_err(during())?;
    Ok(schema)
}

/// Connections for lists: whoever takes one has it for that long, and then SQLite interrupts what it reads.
pub fn page_readers(time: Duration) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(PAGE_READERS)
        .acquire_timeout(PAGE_WAIT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| Box::pin(interrupt_after(connection, time)))
        .before_acquire(move |connection, _| {
            Box::pin(async move { interrupt_after(connection, time).await.map(|()| true) })
        })
}

/// Lets SQLite interrupt what a connection reads when the time is over.
pub async fn interrupt_after(
    connection: &mut SqliteConnection,
    time: Duration,
) -> Result<(), sqlx::Error> {
    let end = Instant::now() + time;
    connection
        .lock_handle()
        .await?
        .set_progress_handler(STEPS_BETWEEN_CHECKS, move || Instant::now() < end);
    Ok(())
}
