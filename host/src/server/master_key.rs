//! Checks at a start that the master keys are those that the database was made with, and rotates them.

pub mod rotation;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::data_dir::{DataDir, DataDirError, MASTER_KEY};
use crate::store::seal::{Purpose, Seal};
use crate::store::{Store, StoreError};

/// The note with a value that one of the keys must open, and the row for which it is sealed.
pub const PROOF: &str = "proof of the master key";

/// Why what the server has sealed cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// DKIM keys would not open, and new ones could not be opened with the right key.
    #[error(
        "{path} is not the key that this data was made with (a new one is made where it is missing); \
         restore it from your backup"
    )]
    Another { path: PathBuf },
}

/// Opens what the first start has sealed; the first start seals it.
pub async fn verify(data: &DataDir, store: &Store) -> Result<(), MasterKeyError> {
    let seal = Seal::of(&data.key_ring()?, Purpose::DkimKeys);
    match store.noted(PROOF).await? {
        Some(noted) => {
            let sealed = STANDARD.decode(noted).unwrap_or_default();
            let path = data.file(MASTER_KEY);
            seal.open(PROOF, &sealed).map(drop).map_err(|_| MasterKeyError::Another { path })
        }
        None => Ok(store.note(PROOF, &STANDARD.encode(seal.seal(PROOF, b"proof"))).await?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn another_master_key_is_noticed_before_anything_is_sealed_with_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("opened");
        let store = Store::open(&data.database().expect("made")).await.expect("opens");
        verify(&data, &store).await.expect("a new one");
        verify(&data, &store).await.expect("the same");
        std::fs::remove_file(data.file(MASTER_KEY)).expect("removed");
        let next_start = DataDir::open(directory.path()).expect("opened");
        let another = verify(&next_start, &store).await;
        assert!(matches!(another, Err(MasterKeyError::Another { .. })), "{another:?}");
    }
}
