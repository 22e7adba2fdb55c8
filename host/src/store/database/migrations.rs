//! The files of `migrations`, read here and not by `sqlx::migrate!`: sqlx's macros build tokio, sqlx and SQLite
//! a second time, for the compiler.
//!
//! The first line of a file says which programs can work with the tables after it. A database keeps that in the
//! description of each migration that it has run: a program reads it of migrations that it does not have.

use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqlSafeStr};

use crate::store::StoreError;
use crate::store::error::BASELINE_SCHEMA;

/// How the comment on the first line begins where a migration only adds: every program can work with the tables after it.
const EXPANDS: &str = "expand: ";
/// How that comment begins where a migration takes something away. The number of a migration follows: programs that have that
/// migration do without what is taken away.
const CONTRACTS_AFTER: &str = "contract after ";
/// What stands before the number of the migration that programs need, in the description of a migration.
const NEEDS: &str = " (needs ";

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../migrations/sqlite");
static POSTGRES_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../migrations/postgres");
static EARLIER_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../migrations/sqlite/earlier");

pub static CURRENT: LazyLock<Migrator> = LazyLock::new(|| migrator(&FILES));
/// The tables that a database of an earlier version is converted into; later migrations apply as usual.
pub static BASELINE: LazyLock<Migrator> = LazyLock::new(|| {
    let baseline = CURRENT.iter().filter(|it| it.version == BASELINE_SCHEMA).cloned();
    Migrator::with_migrations(baseline.collect())
});
/// The tables of earlier versions, which had identifiers as texts.
pub static EARLIER: LazyLock<Migrator> = LazyLock::new(|| migrator(&EARLIER_FILES));

/// The same tables for PostgreSQL, which has no earlier versions.
pub static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| migrator(&POSTGRES_FILES));

fn migrator(files: &'static Dir<'_>) -> Migrator {
    Migrator::with_migrations(files.files().filter_map(in_file).collect())
}

/// The migration in a file named `<version>_<description>.sql`.
fn in_file(file: &'static File<'_>) -> Option<Migration> {
    let (version, name) = file.path().file_stem()?.to_str()?.split_once('_')?;
    Some(migration(version.parse().ok()?, &name.replace('_', " "), file.contents_utf8()?))
}

/// A migration of that text.
pub fn migration(version: i64, name: &str, text: &'static str) -> Migration {
    let description = match said(text) {
        Some(needed) => format!("{name}{NEEDS}{needed})"),
        None => name.to_owned(),
    };
    let (kind, text) = (MigrationType::Simple, text.into_sql_str());
    Migration::new(version, description.into(), kind, text, false)
}

/// The migration that a program must have to work with the tables after this one, as the first line says.
fn said(text: &str) -> Option<i64> {
    let first = first_comment(text)?;
    if first.starts_with(EXPANDS) {
        return Some(0);
    }
    let (needed, _) = first.strip_prefix(CONTRACTS_AFTER)?.split_once(": ")?;
    needed.parse().ok()
}

/// The comment that is the first line.
fn first_comment(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix("--")?.strip_prefix(' ')
}

/// The migration that a program must have to work with the tables after a migration of this description. A migration that
/// does not say so needs programs that have it: where the comment was forgotten, all nodes have to stop, and none breaks.
pub fn needed(version: i64, description: &str) -> i64 {
    let said = description.rsplit_once(NEEDS).and_then(|(_, it)| it.strip_suffix(')'));
    said.and_then(|it| it.parse::<i64>().ok()).map_or(version, |it| it.min(version))
}

/// The version of the last migration; 0 where there is none.
pub fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|it| it.version).max().unwrap_or_default()
}

/// On a connection of its own: a new index is sorted in files, whatever its size, and not in memory.
pub async fn run(migrations: &Migrator, options: &SqliteConnectOptions) -> Result<(), StoreError> {
    let during = || StoreError::during("migrate");
    let mut connection = options.connect().await.map_err(during())?;
    migrations.run(&mut connection).await?;
    connection.close().await.map_err(during())
}

#[cfg(test)]
mod tests;
