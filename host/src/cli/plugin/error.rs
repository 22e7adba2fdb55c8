//! Why a command on a plugin did not do what it was asked.

use std::io;
use std::path::PathBuf;

use super::build::BuildError;
use super::new::NewError;
use super::online::OnlineError;
use super::record_error::RecordError;
use super::scaffold::project::ProjectError;
use crate::config::ConfigError;
use crate::plugin::ReadError;
use crate::plugin::signature::SignatureError;
use crate::plugin::slot::{BadSlotConfig, BadSlotName};
use crate::plugin::{CallFailure, LoadError};

/// Why a command of `waxwing plugin` failed.
#[derive(Debug, thiserror::Error)]
pub enum PluginCommandError {
    #[error(transparent)]
    New(#[from] NewError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Online(#[from] OnlineError),
}

/// Why there is no result, or why the result is a no.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The folder is no project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The project does not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The component cannot be used.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// It gave no answer to a case.
    #[error("the case `{case}`: {failure}")]
    Call {
        case: String,
        /// Why there is none.
        failure: CallFailure,
    },
    #[error("{} cannot be watched: {source}", path.display())]
    Watch { path: PathBuf, source: notify::Error },
    /// It is too large.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error(transparent)]
    SlotName(#[from] BadSlotName),
    #[error(transparent)]
    SlotFile(#[from] BadSlotConfig),
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The project has no component yet.
    #[error("{} is not there yet: `waxwing plugin build` makes it", path.display())]
    NotBuilt { path: PathBuf },
    /// A key is never overwritten.
    #[error(
        "{} is there already, and a key is never overwritten: name another file with --out",
        path.display()
    )]
    KeyExists { path: PathBuf },
    /// Nothing was recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no case of that name.
    #[error("there is no case `{name}` in {}; there are: {there_are}", cases.display())]
    NoCase { name: String, cases: PathBuf, there_are: String },
    /// There are no cases at all.
    #[error(
        "there are no golden cases in {}: make a folder for each, with an input.json; \
         `waxwing plugin test --update` writes its expected.json",
        cases.display()
    )]
    NoCases {
        /// Where they were looked for.
        cases: PathBuf,
    },
    /// Some cases do not hold; what differs was printed.
    #[error("{failed} of {all} cases failed")]
    Cases {
        /// Those that failed.
        failed: usize,
        all: usize,
    },
    /// No server was ever there.
    #[error(
        "there is no server's data directory at {}: start `waxwing dev` there, or name the right one \
         with --data-dir, or its plugins with --plugins-dir",
        data_dir.display()
    )]
    NoServer { data_dir: PathBuf },
    /// The one round of `dev --once` ended with a no, which was printed.
    #[error("the component was not placed: {reason}")]
    Round { reason: String },
    /// A task of this program was stopped.
    #[error("the build was stopped: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

impl ToolError {
    /// For `map_err` where a file is written.
    pub fn write(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}
