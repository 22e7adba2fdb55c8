//! Reads all of a file of SQLite, to know whether it is whole.

use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};

use super::sqlite::interrupt_after;
use crate::store::StoreError;

/// All pages, without comparing indexes with their tables; the first faults.
const QUICK_CHECK: &str = "PRAGMA quick_check(5)";

/// What reading the whole database says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    Sound,
    /// The first faults, in words of the database.
    Damaged(Vec<String>),
    /// It could not be read within the time.
    TooLarge,
    /// A server keeps it, and has means of its own.
    KeptByServer,
}

/// Reads every page of a file, over a connection of its own: SQLite interrupts it when the time is over.
pub async fn quick_check(
    options: &SqliteConnectOptions,
    within: Duration,
) -> Result<Integrity, StoreError> {
    let end = Instant::now() + within;
    let said = read(options, within).await;
    let is_late = Instant::now() >= end;
    match said {
        Ok(said) if said.iter().any(|it| it != "ok") => Ok(Integrity::Damaged(said)),
        Ok(_) | Err(_) if is_late => Ok(Integrity::TooLarge),
        Ok(_) => Ok(Integrity::Sound),
        Err(error) if is_damage(&error) => Ok(Integrity::Damaged(vec![error.to_string()])),
        Err(error) => Err(StoreError::during("integrity")(error)),
    }
}

/// What SQLite says of the pages.
async fn read(
    options: &SqliteConnectOptions,
    within: Duration,
) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = options.connect().await?;
    interrupt_after(&mut connection, within).await?;
    let rows = sqlx::query(QUICK_CHECK).fetch_all(&mut connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// `SQLITE_CORRUPT` or `SQLITE_NOTADB`, with or without a further code in its upper bytes.
fn is_damage(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    let code = code.and_then(|it| it.parse::<u32>().ok());
    code.is_some_and(|it| matches!(it & 0xff, 11 | 26))
}
