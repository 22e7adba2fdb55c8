//! The server brings the file of an earlier version up to date at its start. Before that it keeps a copy of the file: with
//! that the version before can go back, because migrations know one direction alone.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::embedded::{SPARE_BYTES, beside, make_private};
use super::{Place, Store, database, free_disk};
use crate::clock::Clock;
use crate::store::StoreError;
use crate::store::error::BASELINE_SCHEMA;

/// How many copies stay, the newest ones. Two, so that an upgrade that fails half-way and is begun again leaves the copy from
/// before its first attempt.
const MAX_COPIES: usize = 2;
/// In the name of a copy, between the name of the database and the number of its last migration.
const COPY: &str = ".schema-";
/// The ending of a copy that is being written.
const DRAFT: &str = ".copying";

impl Store {
    /// Brings the file of an earlier version up to date, which [`Self::open`] refuses. Only for the process that holds the
    /// data directory. On PostgreSQL it does nothing: its schema is brought up to date when it is opened.
    ///
    /// # Errors
    /// The file is as it was, or has some of the migrations, each of them whole.
    pub async fn upgrade(place: &Place, clock: &Clock) -> Result<(), StoreError> {
        let Place::File(file) = place else { return Ok(()) };
        let earlier = database::earlier_schema(file)?;
        database::convert(file).await?;
        let Some(schema) = earlier else { return Ok(()) };
        // A conversion makes another file; OPERATING.md says how to go back from that.
        if schema >= BASELINE_SCHEMA {
            keep_copy(file, schema, clock).await?;
        }
        database::migrate_file(file).await?;
        tracing::info!(path = %file.display(), "the database is brought up to date");
        Ok(())
    }
}

async fn keep_copy(file: &Path, schema: i64, clock: &Clock) -> Result<(), StoreError> {
    let found = file.canonicalize();
    let file = &found.map_err(|source| StoreError::NoCopy { path: file.to_owned(), source })?;
    let kept = beside(file, &format!("{COPY}{schema}"));
    let bytes = database::bytes_in_use(file)?;
    if let Some(free) = free_disk(file).filter(|free| *free < bytes + SPARE_BYTES) {
        tracing::warn!(
            path = %kept.display(),
            needed = bytes + SPARE_BYTES,
            free,
            "the disk has too little room for a copy of the database from before the upgrade; none is kept, and \
             the version before needs a backup to go back to"
        );
        return Ok(());
    }
    tracing::info!(
        path = %kept.display(),
        bytes,
        "keeping a copy of the database from before the upgrade"
    );
    let draft = beside(file, DRAFT);
    let io_failed = |source| StoreError::NoCopy { path: kept.clone(), source };
    make(&draft).map_err(io_failed)?;
    let copied = Store::copy(file, &draft, clock).await;
    let placed = copied.and_then(|_| place(&draft, &kept).map_err(io_failed));
    if placed.is_err() {
        // The error that is returned says what failed. A draft that stays is replaced by the next one.
        drop(fs::remove_file(&draft));
    }
    placed?;
    drop_older(file).map_err(io_failed)
}

/// Makes an empty draft in the place of one that an interrupted copy has left.
fn make(draft: &Path) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    make_private(draft)
}

/// Gives a copy its name when all of it is on the disk.
fn place(draft: &Path, kept: &Path) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    fs::rename(draft, kept)?;
    File::open(kept.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn drop_older(file: &Path) -> io::Result<()> {
    let Some(name) = file.file_name().and_then(|it| it.to_str()) else { return Ok(()) };
    let begins = format!("{name}{COPY}");
    let mut copies = Vec::new();
    for entry in fs::read_dir(file.parent().unwrap_or(Path::new(".")))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|it| it.starts_with(&begins)) {
            copies.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    copies.sort();
    let older = copies.len().saturating_sub(MAX_COPIES);
    copies.iter().take(older).try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests;
