//! Whether the database is whole.

use std::time::Duration;

use super::Store;
use super::database::{self, Integrity};
use crate::store::StoreError;

impl Store {
    /// Reads the whole database, over a connection of its own and for that long at most.
    pub async fn integrity(&self, within: Duration) -> Result<Integrity, StoreError> {
        database::integrity(&self.db, within).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    const TIME: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_damaged_page_is_found_and_a_whole_database_is_sound() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("test.db");
        let store = Store::open(&file).await.expect("opens");
        assert_eq!(store.integrity(TIME).await.expect("readable"), Integrity::Sound);
        store.checkpoint_wal().await.expect("checkpointed");
        let pages = std::fs::metadata(&file).expect("there").len() / 4_096;
        let damaged = File::options().write(true).open(&file).expect("opens");
        for page in [pages / 2, pages / 2 + 1] {
            damaged.write_all_at(&[0xa5; 4_096], page * 4_096).expect("written");
        }
        let found = store.integrity(TIME).await.expect("readable");
        assert!(matches!(found, Integrity::Damaged(_)), "{found:?}");
    }

    #[tokio::test]
    async fn a_database_that_takes_too_long_is_not_called_damaged() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("test.db");
        let store = Store::open(&file).await.expect("opens");
        let found = store.integrity(Duration::ZERO).await.expect("readable");
        assert_eq!(found, Integrity::TooLarge);
    }
}
