//! The files of `migrations`, read here and not by `sqlx::migrate!`: sqlx's macros build tokio, sqlx and SQLite
//! a second time, for the compiler.

use std::sync::LazyLock;

use include_dir::{Dir, File, include_dir};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqlSafeStr};

use crate::store::StoreError;
use crate::store::error::BASELINE_SCHEMA;

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
    Migrator::with_migrations(files.files().filter_map(migration).collect())
}

/// The migration in a file named `<version>_<description>.sql`.
fn migration(file: &'static File<'_>) -> Option<Migration> {
    let (version, description) = file.path().file_stem()?.to_str()?.split_once('_')?;
    Some(Migration::new(
        version.parse().ok()?,
        description.replace('_', " ").into(),
        MigrationType::Simple,
        file.contents_utf8()?.into_sql_str(),
        false,
    ))
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
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_migration() {
        let all = [(&CURRENT, &FILES), (&EARLIER, &EARLIER_FILES), (&POSTGRES, &POSTGRES_FILES)];
        for (migrator, files) in all {
            assert_eq!(migrator.iter().count(), files.files().count());
        }
        let versions: Vec<i64> = EARLIER.iter().map(|it| it.version).collect();
        assert_eq!(versions, (1..=15).collect::<Vec<_>>());
    }
}
