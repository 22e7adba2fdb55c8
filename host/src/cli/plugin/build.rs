//! `waxwing plugin build`.

mod component_file;
mod error;
mod javascript;
mod python;
mod rust;
mod tool;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::super::output::Output;
use super::scaffold::project::{Language, Project};
use crate::plugin::inspect;

pub use error::BuildError;

/// Compile the plugin project in this folder, with the tools of its language
#[derive(Debug, Args)]
#[command(
    after_help = "What it needs: for Rust cargo (rustup, if the target wasm32-wasip2 is not \
installed yet); for JavaScript node and npm; for Python python3 with venv. The tools that turn \
source into a component are pinned in the project and fetched once."
)]
pub struct Build {
    /// The project's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// A component that was built.
#[derive(Debug)]
pub struct Built {
    pub component: PathBuf,
    pub bytes: u64,
    /// The interfaces that it asks the server for.
    pub imports: Vec<String>,
}

/// Builds the project and says what came out.
///
/// # Errors
/// It is no plugin project, a tool is missing, or the build failed.
pub fn run(build: &Build) -> Result<(), BuildError> {
    let start = Instant::now();
    let project = Project::read(&build.dir)?;
    let Built { component, bytes, imports } = project_in(&project)?;
    let path = component.display();
    let seconds = start.elapsed().as_secs();
    let value = json!({
        "name": project.name,
        "kind": project.kind.name(),
        "lang": project.lang.name(),
        "component": path.to_string(),
        "bytes": bytes,
        "imports": imports,
        "seconds": seconds,
    });
    build.output.one(&value, || {
        let (kind, lang) = (project.kind.noun(), project.lang.name());
        let list = if imports.is_empty() { "nothing".to_owned() } else { imports.join("\n  ") };
        format!(
            "{path}: {kind} in {lang}, {} KB, built in {seconds} s\nit imports from the server\n  {list}",
            bytes.div_ceil(1000),
        )
    });
    Ok(())
}

/// Builds a project. The tools' own output goes to standard error as it comes.
///
/// # Errors
/// A tool is missing or failed, or what it made is not a component. An earlier component stays.
pub fn project_in(project: &Project) -> Result<Built, BuildError> {
    match project.lang {
        Language::Rust => rust::build(project)?,
        Language::Js => javascript::build(project)?,
        Language::Python => python::build(project)?,
    }
    let component = project.component();
    if !component.is_file() {
        let wanted = format!("{} is not there", component.display());
        return Err(BuildError::NoComponent { wanted });
    }
    let bytes = fs::read(&component).map_err(BuildError::file(&component))?;
    let imports = inspect::imports(&bytes).map_err(|error| {
        let why = error.to_string();
        BuildError::NotAComponent { path: component.clone(), why }
    })?;
    Ok(Built { component, bytes: bytes.len() as u64, imports })
}

#[cfg(test)]
mod tests;
