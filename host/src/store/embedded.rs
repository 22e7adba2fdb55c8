//! What only a file of SQLite needs, the store's and the sandbox inbox's: how a transaction that writes begins,
//! and how the file gives disk space back. With `auto_vacuum = INCREMENTAL` it keeps account of where each
//! page belongs, so that its free pages can be cut off a few at a time while others write.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions};
use sqlx::{ConnectOptions, Connection, Row, Sqlite, SqlitePool, Transaction};

use crate::private_file;

const IMMEDIATE: &str = "BEGIN IMMEDIATE";
/// How long a copy waits for another process that has the file for itself.
const COPY_WAIT: Duration = Duration::from_secs(30);
/// What stays free on a disk beside a copy of a database that is on it.
pub const SPARE_BYTES: u64 = 64 << 20;
/// Free pages that always stay.
const SPARE_PAGES: i64 = 1_000;
/// Of a larger file, one in so many pages may be free: it is used again before the next pass.
const SPARE_SHARE: i64 = 20;

/// What became of a file that could not give space back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// It can already.
    NotNeeded,
    /// It was rebuilt, and can now.
    Done,
    /// The disk has too little room to rebuild it, or that failed; it works on unchanged.
    PutOff,
}

/// How a file is opened. Statements are logged nowhere, slow ones either: the line would be the driver's, with fields that
/// the log has not.
#[must_use]
pub fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).disable_statement_logging()
}

/// Begins a transaction that writes, on the one connection of `writer`.
///
/// After a full disk or an I/O error SQLite rolls back by itself, and the driver still counts the
/// transaction as open: such a connection would refuse every further one, so it is replaced.
pub async fn begin_immediate(
    writer: &SqlitePool,
) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
    match writer.begin_with(IMMEDIATE).await {
        Err(sqlx::Error::InvalidSavePointStatement) => {
            tracing::warn!(
                "the write connection of the database lost its transaction; replacing the connection"
            );
            writer.acquire().await?.close().await?;
            writer.begin_with(IMMEDIATE).await
        }
        begun => begun,
    }
}

/// Makes a file that is still empty one that can give space back: it can only be set before the first
/// table is made.
pub async fn begin_shrinkable(
    options: &SqliteConnectOptions,
    file: &Path,
) -> Result<(), sqlx::Error> {
    if std::fs::metadata(file).is_ok_and(|it| it.len() > 0) {
        return Ok(());
    }
    let options = options.clone().auto_vacuum(SqliteAutoVacuum::Incremental);
    options.connect().await?.close().await
}

/// Rebuilds a file of an earlier version, once, where the disk has twice its size free. Nothing else may
/// be waiting for it.
pub async fn convert_to_shrinkable(
    writer: &SqlitePool,
    file: &Path,
) -> Result<Conversion, sqlx::Error> {
    convert_within(writer, file, free_disk(file)).await
}

async fn convert_within(
    writer: &SqlitePool,
    file: &Path,
    free: Option<u64>,
) -> Result<Conversion, sqlx::Error> {
    let mut connection = writer.acquire().await?;
    let state = sqlx::query(
        "-- convert
         SELECT a.auto_vacuum, p.page_count * s.page_size AS bytes
         FROM pragma_auto_vacuum() a, pragma_page_count() p, pragma_page_size() s",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (kind, bytes): (i64, i64) = (state.try_get("auto_vacuum")?, state.try_get("bytes")?);
    if kind != 0 {
        return Ok(Conversion::NotNeeded);
    }
    let file = file.display();
    let needed = u64::try_from(bytes).unwrap_or_default().saturating_mul(2);
    if free.is_some_and(|free| free < needed) {
        tracing::warn!(path = %file, needed, free, "the disk has too little room to rebuild the database, \
            which an earlier version made; until it has, dropped messages do not make the file smaller");
        return Ok(Conversion::PutOff);
    }
    tracing::info!(path = %file, bytes, "rebuilding the database file of an earlier version (VACUUM), so that it can shrink");
    for statement in
        ["PRAGMA auto_vacuum = INCREMENTAL", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]
    {
        if let Err(error) = sqlx::query(statement).execute(&mut *connection).await {
            tracing::warn!(path = %file, %error, statement, "the database could not be rebuilt; it works on \
                as it was");
            return Ok(Conversion::PutOff);
        }
    }
    tracing::info!(path = %file, "the database file was rebuilt for incremental vacuum: from now on deleted records give their disk space back");
    Ok(Conversion::Done)
}

/// Bytes that are free on a file's disk; none where the system does not say.
#[must_use]
pub fn free_disk(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Writes one state of a file into a new one, without free pages, while others read and write it.
pub async fn copy(file: &Path, into: &Path) -> Result<(), sqlx::Error> {
    let Some(target) = into.to_str() else {
        let message = format!("the path {} is not UTF-8", into.display());
        return Err(sqlx::Error::Configuration(message.into()));
    };
    let options = options(file).read_only(true);
    let mut connection = options.busy_timeout(COPY_WAIT).connect().await?;
    sqlx::query("VACUUM INTO $1").bind(target).execute(&mut connection).await?;
    connection.close().await
}

/// Looks through all of a file that nobody writes: what SQLite finds wrong, or none.
pub async fn damage(file: &Path) -> Result<Option<String>, sqlx::Error> {
    let options = options(file).read_only(true);
    let mut connection = options.connect().await?;
    let found: String =
        sqlx::query_scalar("PRAGMA integrity_check(1)").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok((found != "ok").then_some(found))
}

/// How many pages of a file are free beyond what it keeps to use again.
pub async fn excess(pool: &SqlitePool) -> Result<u32, sqlx::Error> {
    let (pages, free): (i64, i64) = sqlx::query_as(
        "-- excess
         SELECT p.page_count, f.freelist_count FROM pragma_page_count() p, pragma_freelist_count() f",
    )
    .fetch_one(pool)
    .await?;
    let spare = SPARE_PAGES.max(pages / SPARE_SHARE);
    Ok(u32::try_from((free - spare).max(0)).unwrap_or(u32::MAX))
}

/// Cuts at most `pages` free pages off a file; one that cannot give space back is left alone.
pub async fn cut(writer: &SqlitePool, pages: u32) -> Result<(), sqlx::Error> {
    let statement = sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({pages})"));
    sqlx::query(statement).persistent(false).execute(writer).await.map(|_| ())
}

/// The path of a file that stands beside a database: its name is the database's with an ending.
#[must_use]
pub fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes an empty file that only its owner may read and write. SQLite fills it and keeps its mode.
pub fn make_private(file: &Path) -> io::Result<()> {
    private_file::options().create_new(true).open(file).map(drop)
}

#[cfg(test)]
mod tests;
