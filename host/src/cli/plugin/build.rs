//! `waxwing plugin build`.

mod javascript;
mod python;
mod rust;
mod tool;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::super::output::Output;
use super::scaffold::project::{Language, Project, ProjectError};
use crate::plugin::inspect;

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
    /// A program said no; its own words went to standard error.
    #[error("`{command}` failed ({status}); what it said is above.{}", advice.map_or_else(String::new, |it| format!(" {it}")))]
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
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }
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
            "{path}: {kind} in {lang}, {} KB, built in {seconds} s\nit asks the server for\n  {list}",
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

/// A file beside the component, for a tool to write: a half-written one never has its name.
fn unfinished(project: &Project) -> Result<PathBuf, BuildError> {
    let component = project.component();
    if let Some(folder) = component.parent() {
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    Ok(component.with_extension("wasm.unfinished"))
}

/// Gives a finished file the component's name, in one step.
fn finish(project: &Project, unfinished: &Path) -> Result<(), BuildError> {
    let component = project.component();
    fs::rename(unfinished, &component).map_err(BuildError::file(&component))
}

#[cfg(test)]
mod tests;
