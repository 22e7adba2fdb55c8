//! Checks at a start that the master keys are those that the database was made with, and rotates them.

pub mod rotation;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::data_dir::{DataDir, DataDirError};
use crate::store::seal::{Purpose, Seal};
use crate::store::{Place, Store, StoreError};

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
        "{path} is not the master key that this database was made with; restore it from your backup, copy master.key \
         of the data directory of another node, or name a file that all nodes have in store.master_key_file"
    )]
    Another { path: PathBuf },
}

/// Opens what the first start has sealed; the first start makes the key and seals it.
pub async fn verify(data: &DataDir, store: &Store) -> Result<(), MasterKeyError> {
    let noted = store.noted(PROOF).await?;
    if noted.is_none() {
        data.make_master_key()?;
    }
    // Of the file, whatever this process has in memory: the next start has the file alone.
    data.master_keys()?;
    let noted = if let Some(noted) = noted {
        noted
    } else {
        let seal = Seal::of(&data.key_ring()?, Purpose::DkimKeys);
        // Of several nodes that start at one time the first one says which key it is.
        store.note_first(PROOF, &STANDARD.encode(seal.seal(PROOF, b"proof"))).await?
    };
    check(data, &noted)
}

/// Whether [`verify`] would take the key of the directory for a database that is there. Makes nothing.
pub async fn check_for(data: &DataDir, place: &Place) -> Result<(), MasterKeyError> {
    // Where nothing is sealed yet the start makes the key.
    let Some(noted) = Store::noted_in(place, PROOF).await? else { return Ok(()) };
    data.master_keys()?;
    check(data, &noted)
}

/// Whether the key of the directory is the one of the database that has noted this under [`PROOF`].
pub fn check(data: &DataDir, noted: &str) -> Result<(), MasterKeyError> {
    let seal = Seal::of(&data.key_ring()?, Purpose::DkimKeys);
    let sealed = STANDARD.decode(noted).unwrap_or_default();
    let path = data.master_key_path();
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
        let place = Place::File(data.database().expect("there"));
        let checked = check_for(&data, &place).await;
        let missing = verify(&data, &store).await;
        let is_missing =
            |it: &_| matches!(it, Err(MasterKeyError::DataDir(DataDirError::MissingKey { .. })));
        assert!(is_missing(&missing) && is_missing(&checked), "{missing:?} {checked:?}");
        assert!(!data.has_master_key(), "no new one is made");
        data.write_private("master.key", &[7; 32]).expect("written");
        let next_start = DataDir::open(directory.path()).expect("opened");
        let another = verify(&next_start, &store).await;
        let is_another = |it: &_| matches!(it, Err(MasterKeyError::Another { .. }));
        assert!(is_another(&another), "{another:?}");
        assert!(is_another(&check_for(&next_start, &place).await), "a check says the same");
    }

    #[tokio::test]
    async fn of_two_new_nodes_with_two_master_keys_one_does_not_start() {
        let directory = tempfile::tempdir().expect("a directory");
        let node = |name: &str| DataDir::open(&directory.path().join(name)).expect("opened");
        let (one, other) = (node("one"), node("other"));
        let store = Store::open(&one.database().expect("made")).await.expect("opens");
        other.make_master_key().expect("made by an earlier start");
        verify(&one, &store).await.expect("the first one");
        let another = verify(&other, &store).await;
        assert!(matches!(another, Err(MasterKeyError::Another { .. })), "{another:?}");
    }
}
