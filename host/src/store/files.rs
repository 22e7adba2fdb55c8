//! What a backup does with files of SQLite, the store's and others.

use std::path::Path;

use super::{database, embedded};
use crate::store::StoreError;

/// Copies a file that is not the store's, whoever has it open, into a new file.
pub async fn copy_other_file(file: &Path, into: &Path) -> Result<(), StoreError> {
    embedded::copy(file, into).await.map_err(StoreError::during("copy"))
}

/// Bytes of a file that a copy of it has: with what its write-ahead log has alone, and without its free pages.
pub fn bytes_in_use(file: &Path) -> Result<u64, StoreError> {
    database::bytes_in_use(file)
}

/// Bytes that are free on a file's disk; none where the system does not say.
#[must_use]
pub fn free_disk(file: &Path) -> Option<u64> {
    embedded::free_disk(file)
}

/// What is wrong with a file that nobody writes; none where it is whole.
pub async fn file_damage(file: &Path) -> Result<Option<String>, StoreError> {
    embedded::damage(file).await.map_err(StoreError::during("check a copy"))
}
