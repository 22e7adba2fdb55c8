//! Where the database of a data directory is; and that one which is gone is not taken for one that is still to be made.

use std::io::ErrorKind;

use super::{DATABASE, DataDir, DataDirError, IDENTITY};
use crate::config;
use crate::store::Place;

impl DataDir {
    /// Where a store of that configuration has its database; none where the file is still to be made. Nothing is made.
    ///
    /// # Errors
    /// A server has worked in the directory, and its database is gone.
    pub fn existing_place(config: &config::Store) -> Result<Option<Place>, DataDirError> {
        if let Some(url) = &config.url {
            return Ok(Some(Place::Server(url.0.clone())));
        }
        let path = config.data_dir.join(DATABASE);
        let length = match std::fs::metadata(&path) {
            Ok(found) => Some(found.len()),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                None
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(DataDirError::Denied { path });
            }
            Err(source) => return Err(DataDirError::Io { path, source }),
        };
        // A server has its identity once it has opened its database; neither a backup nor a new directory has one.
        if length.unwrap_or_default() == 0 && config.data_dir.join(IDENTITY).exists() {
            return Err(DataDirError::LostDatabase { path });
        }
        Ok(length.map(|_| Place::File(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_gone_is_not_taken_for_a_new_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let config =
            config::Store { data_dir: directory.path().to_owned(), ..config::Store::default() };
        let data = DataDir::of(&config).expect("opened");
        let there = |config: &config::Store| DataDir::existing_place(config).map(|it| it.is_some());
        assert!(matches!(there(&config), Ok(false)), "a new directory");
        let Ok(Place::File(file)) = data.place(&config) else { unreachable!("a file") };
        assert!(matches!(there(&config), Ok(true)), "made by a start that was interrupted");
        data.identity().expect("made");
        let is_lost = |it: &Result<_, _>| matches!(it, Err(DataDirError::LostDatabase { .. }));
        assert!(is_lost(&there(&config)), "it is empty");
        std::fs::write(&file, "SQLite format 3").expect("written");
        assert!(matches!(there(&config), Ok(true)));
        std::fs::remove_file(&file).expect("removed");
        assert!(is_lost(&there(&config)), "it is missing");
        assert!(is_lost(&data.place(&config).map(|_| true)), "a start is refused");
        assert!(!file.exists(), "none is made");
        let url = serde_json::json!("postgres://localhost/waxwing");
        let url = Some(serde_json::from_value(url).expect("a URL"));
        let elsewhere = config::Store { url, ..config };
        assert!(matches!(there(&elsewhere), Ok(true)), "a server of PostgreSQL has it");
    }
}
