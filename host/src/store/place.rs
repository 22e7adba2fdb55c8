//! Where a store has its database.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone)]
pub enum Place {
    /// A file, made where it is missing.
    File(PathBuf),
    /// A database of a server, by its URL; its tables are made where they are missing.
    Server(String),
}

impl From<&PathBuf> for Place {
    fn from(file: &PathBuf) -> Self {
        Self::File(file.clone())
    }
}

impl fmt::Debug for Place {
    /// A URL may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Server(_) => f.write_str("Server(…)"),
        }
    }
}
