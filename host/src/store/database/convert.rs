//! Converts the database of an earlier version: a new file is filled beside it, table by table, and takes its place
//! in one step. Whatever happens before that step, `kill -9` too, leaves the old file whole.
//!
//! Only the process that holds the data directory may convert. The old file is locked against every other one
//! all the while.

mod fill;
mod functions;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use sqlx::sqlite::{SqliteAutoVacuum, SqliteJournalMode, SqliteSynchronous};

use super::connections::options;
use super::inline::waiting;
use super::migrations;
use crate::store::StoreError;
use crate::store::embedded::{self, SPARE_BYTES, beside};
use crate::store::error::{BASELINE_SCHEMA, ConversionError};

/// How long another process that has the old file open may take to leave it.
const LOCK_WAIT: Duration = Duration::from_secs(2);
/// A larger file is converted without an integrity check before.
const MAX_CHECKED_BYTES: u64 = 1 << 30;

/// The bytes of the database file that are in use, without its free pages.
pub const USED_BYTES: &str = "SELECT (p.page_count - f.freelist_count) * s.page_size AS bytes
    FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s";

/// Whether a file is being converted, or that was interrupted.
pub fn is_under_way(file: &Path) -> bool {
    file.canonicalize().is_ok_and(|file| new_file(&file).exists())
}

/// The last migration of a file that an earlier version wrote; none where the file has no tables yet, or is up to date.
pub fn earlier_schema(file: &Path) -> Result<Option<i64>, StoreError> {
    let schema = schema(file).map_err(StoreError::during("open"))?;
    let newest = migrations::newest(&migrations::CURRENT);
    Ok((1..newest).contains(&schema).then_some(schema))
}

/// The last migration of a file; 0 where it has no tables yet.
fn schema(file: &Path) -> Result<i64, rusqlite::Error> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(LOCK_WAIT)?;
    let is_new = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')";
    if connection.query_row(is_new, [], |row| row.get(0))? {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations";
    connection.query_row(newest, [], |row| row.get(0))
}

/// The bytes of a file that are in use.
pub fn bytes_in_use(file: &Path) -> Result<u64, StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let bytes = connection.and_then(|connection| {
        connection.busy_timeout(LOCK_WAIT)?;
        used_bytes(&connection)
    });
    bytes.map_err(StoreError::during("open"))
}

/// Converts the file where a version before the baseline wrote it; else does nothing. Nobody else may be using the file.
pub async fn convert(file: &Path) -> Result<(), StoreError> {
    // Of a link, the file that it names is replaced, on the disk where that is.
    let file = &file.canonicalize().map_err(at(file))?;
    let new = new_file(file);
    remove(&new)?;
    let schema = schema(file).map_err(StoreError::during("convert"))?;
    if !(1..BASELINE_SCHEMA).contains(&schema) {
        return Ok(());
    }
    let converted = convert_to(&new, file).await;
    if converted.is_err() {
        remove(&new)?;
    }
    converted
}

async fn convert_to(new: &Path, file: &Path) -> Result<(), StoreError> {
    let began = Instant::now();
    migrations::run(&migrations::EARLIER, &options(file)).await?;
    let old = waiting(|| lock(file))?;
    let bytes = used_bytes(&old).map_err(ConversionError::from)?;
    check_disk(file, bytes, embedded::free_disk(file))?;
    tracing::info!(path = %file.display(), bytes, "converting the database of an earlier version; it \
        is replaced when all of it is converted, and the server listens then");
    make(new).await?;
    waiting(|| {
        let filled = fill::fill(&old, new)?;
        let bytes = finish(new, &filled)?;
        replace(new, file)?;
        tracing::info!(path = %file.display(), bytes, seconds = began.elapsed().as_secs(), "the \
            database is converted");
        Ok(())
    })
}

/// Opens the old file for this process alone, without a write-ahead log: what is beside a database belongs to it by
/// its name, and the name will be the new file's.
fn lock(file: &Path) -> Result<Connection, ConversionError> {
    let old = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    old.busy_timeout(LOCK_WAIT)?;
    // The log goes before the lock is kept: a lock that is kept would keep a journal beside the file as well.
    let locked = old.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;",
    );
    let journal = |()| old.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    match locked.and_then(journal) {
        Ok(journal) if journal == "delete" => Ok(old),
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
            Err(error.into())
        }
        Ok(_) | Err(_) => Err(ConversionError::InUse { file: file.to_owned() }),
    }
}

fn used_bytes(old: &Connection) -> rusqlite::Result<u64> {
    let bytes: i64 = old.query_row(USED_BYTES, [], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// Whether a file that holds so much can be converted with so much free disk.
pub fn check_disk(file: &Path, bytes: u64, free: Option<u64>) -> Result<(), ConversionError> {
    let needed = bytes + bytes / 10 + SPARE_BYTES;
    match free {
        Some(free) if free < needed => {
            Err(ConversionError::Disk { file: file.to_owned(), needed, free })
        }
        Some(_) | None => Ok(()),
    }
}

/// Makes the new file with its tables, for its owner only. It is worth nothing until it is whole, so SQLite need
/// neither keep what it would undo nor wait for the disk.
async fn make(new: &Path) -> Result<(), StoreError> {
    embedded::make_private(new).map_err(at(new))?;
    let options = embedded::options(new)
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off);
    // Later migrations find its rows when it is opened.
    migrations::run(&migrations::BASELINE, &options).await
}

/// Makes the indexes and triggers, compares, and brings all of it to the disk. Answers how large the file is.
fn finish(new: &Path, filled: &fill::Filled) -> Result<u64, ConversionError> {
    let connection = Connection::open(new)?;
    connection.execute_batch(fill::UNSAFE)?;
    tracing::info!("converting the database: all rows are copied; building indexes");
    let mut logged_at = Instant::now();
    for later in &filled.later {
        if logged_at.elapsed() >= functions::TELL_EVERY {
            logged_at = Instant::now();
            tracing::info!(index = later.name, "converting the database: building an index");
        }
        connection.execute_batch(&later.sql)?;
    }
    filled.compare(&connection)?;
    let bytes = used_bytes(&connection)?;
    if bytes <= MAX_CHECKED_BYTES {
        let found: String =
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if found != "ok" {
            return Err(ConversionError::Damaged { found });
        }
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.close().map_err(|(_, error)| error)?;
    File::open(new).and_then(|file| file.sync_all()).map_err(at(new))?;
    Ok(bytes)
}

/// Puts the new file in the place of the old one, which is still open and locked.
fn replace(new: &Path, file: &Path) -> Result<(), ConversionError> {
    for (name, endings) in
        [(file, ["-wal", "-shm", "-journal"]), (new, ["-wal", "-shm", "-journal"])]
    {
        for ending in endings {
            let path = beside(name, ending);
            if path.exists() {
                return Err(ConversionError::Left { path });
            }
        }
    }
    std::fs::rename(new, file).map_err(at(file))?;
    let directory = file.parent().unwrap_or(Path::new("."));
    File::open(directory).and_then(|it| it.sync_all()).map_err(at(directory))
}

fn new_file(file: &Path) -> PathBuf {
    beside(file, ".new")
}

/// Removes a new file, which an interrupted conversion has left.
fn remove(new: &Path) -> Result<(), ConversionError> {
    for path in ["", "-wal", "-shm", "-journal"].map(|ending| beside(new, ending)) {
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ConversionError::Io { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ConversionError {
    let path = path.to_owned();
    move |source| ConversionError::Io { path, source }
}

#[cfg(test)]
mod tests;
