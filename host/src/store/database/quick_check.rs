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
    let during = || StoreError::during("integrity");
    let mut connection = options.connect().await.map_err(during())?;
    let end = Instant::now() + within;
    interrupt_after(&mut connection, within).await.map_err(during())?;
    let rows = sqlx::query(QUICK_CHECK).fetch_all(&mut connection).await;
    let is_late = Instant::now() >= end;
    let rows = match rows {
        Ok(rows) => rows,
        Err(_) if is_late => return Ok(Integrity::TooLarge),
        Err(error) if is_damage(&error) => return Ok(Integrity::Damaged(vec![error.to_string()])),
        Err(error) => return Err(during()(error)),
    };
    let said: Result<Vec<String>, sqlx::Error> = rows.iter().map(|row| row.try_get(0)).collect();
    let said = said.map_err(during())?;
    if said.iter().any(|it| it != "ok") {
        return Ok(Integrity::Damaged(said));
    }
    Ok(if is_late { Integrity::TooLarge } else { Integrity::Sound })
}

/// SQLITE_CORRUPT or SQLITE_NOTADB, with or without a further code in its upper bytes.
fn is_damage(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    let code = code.and_then(|it| it.parse::<u32>().ok());
    code.is_some_and(|it| matches!(it & 0xff, 11 | 26))
}
