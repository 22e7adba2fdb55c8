//! The file of the component: written under another name and renamed, so that it is whole or not there.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::BuildError;
use crate::cli::plugin::scaffold::project::Project;

/// A file beside the component, for a tool to write: a half-written one never has its name.
pub fn unfinished(project: &Project) -> Result<PathBuf, BuildError> {
    let component = project.component();
    if let Some(folder) = component.parent() {
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    Ok(component.with_extension("wasm.unfinished"))
}

/// Gives a finished file the component's name, in one step.
pub fn finish(project: &Project, unfinished: &Path) -> Result<(), BuildError> {
    let component = project.component();
    fs::rename(unfinished, &component).map_err(BuildError::file(&component))
}
