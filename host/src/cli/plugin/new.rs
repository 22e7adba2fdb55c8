//! `waxwing plugin new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::output::Output;
use super::scaffold::project::{Language, Project, ProjectKind};
use super::scaffold::{SdkError, files};

const MAX_NAME_CHARS: usize = 64;
/// Names of this project's own crates begin with it.
const RESERVED: &str = "waxwing-";

/// Make a plugin project that builds, with tests, golden cases and pinned tool versions
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin new quiet-hours --kind plan --lang rust
  cd quiet-hours
  waxwing plugin build && waxwing plugin test && waxwing plugin check")]
pub struct New {
    /// The project's folder: a new one, or an empty one
    dir: PathBuf,
    /// What the plugin decides
    #[arg(long)]
    kind: ProjectKind,
    /// What it is written in
    #[arg(long)]
    lang: Language,
    /// The plugin's name; by default the folder's
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Why a project was not made.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// Nothing is overwritten.
    #[error(
        "{} is not empty, and nothing in it is overwritten: name a new folder or an empty one",
        dir.display()
    )]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// A name that some language's tools refuse.
    #[error(
        "`{name}` cannot be a plugin's name: use 1 to {MAX_NAME_CHARS} of a-z, 0-9 and `-`, begin \
         with a letter, do not end with `-`, and do not begin with `{RESERVED}`. `--name` gives \
         another one than the folder's."
    )]
    Name { name: String },
    /// A folder or file cannot be read or written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        source: io::Error,
    },
    /// The SDK inside this program.
    #[error(transparent)]
    Sdk(#[from] SdkError),
}

/// Writes the project and says what to do next.
///
/// # Errors
/// The name cannot be a plugin's, the folder is not empty, or a file cannot be written.
pub fn run(new: New) -> Result<(), NewError> {
    let New { dir, kind, lang, name, output } = new;
    let name = name.map_or_else(|| name_of(&dir), Ok)?;
    if !is_name(&name) {
        return Err(NewError::Name { name });
    }
    let project = Project::new(&name, kind, lang, dir);
    let written = write(&project)?;
    let value = json!({
        "name": project.name,
        "kind": kind.name(),
        "lang": lang.name(),
        "dir": project.dir.display().to_string(),
        "component": project.component().display().to_string(),
        "files": written,
    });
    output.one(&value, || next_steps(&project, written.len()));
    Ok(())
}

fn next_steps(project: &Project, files: usize) -> String {
    let Project { name, kind, lang, dir, component, .. } = project;
    format!(
        "{name}: a {} in {}, {files} files in {}\n\n\
         cd {}\n\
         waxwing plugin build    makes {}\n\
         waxwing plugin test     runs the golden cases in cases/\n\
         waxwing plugin check    everything that a server asks of it\n\
         waxwing plugin dev      builds on each save and swaps it into a local server\n\n\
         README.md has the rest.",
        kind.noun(),
        lang.name(),
        dir.display(),
        dir.display(),
        component.display(),
    )
}

/// Writes every file into an empty folder; the answer is their paths.
fn write(project: &Project) -> Result<Vec<String>, NewError> {
    let files = files(project)?;
    let dir = &project.dir;
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| NewError::Write { path, source }
    };
    fs::create_dir_all(dir).map_err(failed(dir))?;
    if fs::read_dir(dir).map_err(failed(dir))?.next().is_some() {
        return Err(NewError::NotEmpty { dir: dir.clone() });
    }
    for (path, content) in &files {
        let path = dir.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::write(&path, content).map_err(failed(&path))?;
    }
    Ok(files.keys().map(|it| it.display().to_string()).collect())
}

/// The folder's own name, as a plugin would be called.
fn name_of(dir: &Path) -> Result<String, NewError> {
    let path = std::path::absolute(dir)
        .map_err(|source| NewError::Write { path: dir.to_path_buf(), source })?;
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(name.to_ascii_lowercase().replace(['_', ' ', '.'], "-"))
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.starts_with(RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        let project =
            Project::new("x", ProjectKind::Plan, Language::Python, dir.path().to_path_buf());
        assert!(matches!(write(&project), Err(NewError::NotEmpty { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_project_is_read_as_what_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new/quiet");
        let project = Project::new("quiet", ProjectKind::Domain, Language::Js, folder.clone());
        let written = write(&project).unwrap();
        assert!(written.iter().all(|it| folder.join(it).is_file()));
        assert_eq!(Project::read(&folder).unwrap().kind, ProjectKind::Domain);
    }

    #[test]
    fn names_are_what_every_tool_takes() {
        assert_eq!(name_of(Path::new("some/Quiet_Hours")).unwrap(), "quiet-hours");
        assert!(is_name("quiet-hours") && is_name("a1"));
        for name in ["", "1a", "-a", "a-", "A", "a_b", "é", "waxwing-plugin", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
