//! Why a folder and a server do not say the same.

use std::io;
use std::path::PathBuf;

use super::plugin::OnlineError;
use crate::authoring::archive::ArchiveError;
use crate::authoring::error::{AuthoringError, FolderError};
use crate::plural::plural;
use crate::server::data_dir::DataDirError;
use crate::store::StoreError;

/// Why a push, a pull, a diff or a check did not end well.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Online(#[from] OnlineError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the zip file {0}")]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Authoring(#[from] AuthoringError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    DataDir(#[from] Box<DataDirError>),
    #[error("the built-in renderer does not start: {0}")]
    Offline(String),
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A server that means harm, or one of another version.
    #[error(
        "the server has sent a file named {path:?}, which is no file of a template; nothing was written there"
    )]
    Outside { path: String },
    #[error("{} is a symbolic link, or no folder: nothing is written behind it", path.display())]
    Link { path: PathBuf },
    /// Probably another folder was meant.
    #[error(
        "there are no templates: a template is a folder with a template.toml; name the folder that these are in"
    )]
    Empty,
    #[error("{files} {} from the server", plural(*.files, "file differs", "files differ"))]
    Differs { files: usize },
    /// Nobody knows whether something differs.
    #[error(transparent)]
    NotCompared(Box<SyncError>),
    #[error(
        "{}{}", conflicts_in_words(*.conflicts), refused_in_words(*.refused, *.breaking)
    )]
    Refused {
        conflicts: usize,
        refused: usize,
        /// Those of the refused whose senders would be broken.
        breaking: usize,
    },
}

impl SyncError {
    pub fn offline(error: impl std::fmt::Display) -> Self {
        Self::Offline(error.to_string())
    }
}

fn conflicts_in_words(conflicts: usize) -> String {
    if conflicts == 0 {
        return String::new();
    }
    format!(
        "{conflicts} changed on the server since the last pull, and nothing was changed: pull and repeat the change on \
         what is there now, or write over it with --overwrite. "
    )
}

fn refused_in_words(refused: usize, breaking: usize) -> String {
    match (refused, breaking) {
        (0, _) => String::new(),
        (_, 0) => format!("{refused} refused, as told above"),
        (_, _) => format!(
            "{refused} refused, as told above; --force publishes what would break senders ({breaking})"
        ),
    }
}
