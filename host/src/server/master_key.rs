//! Checks at a start that the master key is the one that the database was made with.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::data_dir::{DataDir, DataDirError};
use crate::store::seal::{Purpose, Seal};
use crate::store::{Store, StoreError};

/// Under this name a database has what proves its master key.
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
    if let Some(noted) = store.noted(PROOF).await? {
        return check(data, &noted);
    }
    let seal = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    Ok(store.note(PROOF, &STANDARD.encode(seal.seal(PROOF, b"proof"))).await?)
}

/// Whether the key of the directory is the one of the database that has noted this under [`PROOF`].
pub fn check(data: &DataDir, noted: &str) -> Result<(), MasterKeyError> {
    let seal = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    let sealed = STANDARD.decode(noted).unwrap_or_default();
    let path = data.file("master.key");
    seal.open(PROOF, &sealed).map(drop).map_err(|_| MasterKeyError::Another { path })
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
        std::fs::remove_file(data.file("master.key")).expect("removed");
        let another = verify(&data, &store).await;
        assert!(matches!(another, Err(MasterKeyError::Another { .. })), "{another:?}");
    }
}
