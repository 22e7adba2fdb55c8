//! Why there is no new component.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::cli::plugin::scaffold::project::ProjectError;

/// Why there is no new component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The folder is not a plugin project.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A program is not installed.
    #[error("`{tool}` is not installed: {needed_for}. {get}")]
    MissingTool {
        tool: &'static str,
        needed_for: &'static str,
        /// How to get it.
        get: &'static str,
    },
    /// A program cannot be started.
    #[error("`{command}` cannot be started: {source}")]
    Start { command: String, source: io::Error },
    /// A program failed; its own error went to standard error.
    #[error("`{command}` failed ({status}); its output is above.{}", advice.map_or_else(String::new, |it| format!(" {it}")))]
    Failed {
        command: String,
        status: ExitStatus,
        /// What often helps.
        advice: Option<&'static str>,
    },
    /// The tools were content and made nothing.
    #[error(
        "the build ended well and made no component: {wanted}. See the project's README for what \
         its build must be."
    )]
    NoComponent {
        /// What was looked for.
        wanted: String,
    },
    /// The tools made something else.
    #[error(
        "{} is not a WebAssembly component: {why}. A plugin is a component of a world in wit/v0; a \
         core module, or a file for another platform, is not one.",
        path.display()
    )]
    NotAComponent {
        path: PathBuf,
        /// The parser's words.
        why: String,
    },
    /// A file of the project cannot be read or written.
    #[error("{} cannot be read or written: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl BuildError {
    /// For `map_err` at one path.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }
}
