//! `waxwing-plugin.toml`: what a plugin project is, so that commands in its folder need no argument.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;

/// The file's name, in the project's folder.
pub const FILE: &str = "waxwing-plugin.toml";

/// A plugin project.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The plugin's name, which is also its component's file name.
    pub name: String,
    /// What it decides.
    pub kind: ProjectKind,
    /// What it is written in.
    pub lang: Language,
    /// Where `plugin build` puts the component; in the file it is below the project's folder.
    pub component: PathBuf,
    /// The folder of the interface, for a project that has no copy of its own.
    #[serde(default = "own_interface")]
    pub interface: PathBuf,
    /// The project's folder.
    #[serde(skip)]
    pub dir: PathBuf,
}

/// What a plugin decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectKind {
    /// May this plan make this send, and what does it cost?
    Plan,
    /// Which DNS records does a domain need, and what to make of those that were seen?
    Domain,
    /// Turns a template and data into the parts of a message
    Renderer,
    /// Turns the MJML of a template into HTML when the template is published
    Mjml,
}

/// What a plugin is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with the SDK: the smallest and quickest components
    Rust,
    /// JavaScript, on `QuickJS`
    Js,
    /// Python, on `CPython`: large components
    Python,
}

impl ProjectKind {
    /// As it is written in the file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Domain => "domain",
            Self::Renderer => "renderer",
            Self::Mjml => "mjml",
        }
    }

    /// The world of the interface that it implements.
    pub fn world(self) -> &'static str {
        match self {
            Self::Plan => "plan-restriction",
            Self::Domain => "domain-verification",
            Self::Renderer => "template-renderer",
            Self::Mjml => "mjml-compilation",
        }
    }
}

impl Language {
    /// As it is written in the file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Js => "js",
            Self::Python => "python",
        }
    }
}

/// Why a folder is not taken for a plugin project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// No file, or none that can be read.
    #[error(
        "{} cannot be read: {source}. Run this in the folder of a plugin project, or name the \
         folder; `waxwing plugin new` makes one.",
        path.display()
    )]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// The file says something else.
    #[error(
        "{} is not valid:\n{source}It needs `name`, `kind` (plan, domain, renderer, mjml), `lang` \
         (rust, js, python) and `component` (the built file, below this folder).",
        path.display()
    )]
    Malformed {
        path: PathBuf,
        /// Where and why.
        source: toml::de::Error,
    },
}

fn own_interface() -> PathBuf {
    PathBuf::from("wit/v0")
}

impl Project {
    /// A new project in `dir`, whose component goes to `build/`.
    pub fn new(name: &str, kind: ProjectKind, lang: Language, dir: PathBuf) -> Self {
        let component = PathBuf::from("build").join(format!("{name}.wasm"));
        let interface = own_interface();
        Self { name: name.to_owned(), kind, lang, component, interface, dir }
    }

    /// The project in `dir`.
    ///
    /// # Errors
    /// It has no valid `waxwing-plugin.toml`.
    pub fn read(dir: &Path) -> Result<Self, ProjectError> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ProjectError::Unreadable { path, source }),
        };
        match toml::from_str::<Self>(&text) {
            Ok(project) => Ok(Self { dir: dir.to_path_buf(), ..project }),
            Err(source) => Err(ProjectError::Malformed { path, source }),
        }
    }

    /// Where the built component is, or will be.
    pub fn component(&self) -> PathBuf {
        // As a person would write it: not `./build/…`.
        self.dir.strip_prefix(".").unwrap_or(&self.dir).join(&self.component)
    }

    /// The golden cases.
    pub fn cases(&self) -> PathBuf {
        self.dir.join("cases")
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        format!(
            "# Read by `waxwing plugin build`, `check`, `test` and `dev` in this folder.\n\
             name = \"{}\"\nkind = \"{}\"\nlang = \"{}\"\ncomponent = \"{}\"\n",
            self.name,
            self.kind.name(),
            self.lang.name(),
            self.component.display(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new("quiet", ProjectKind::Plan, Language::Js, dir.path().into());
        fs::write(dir.path().join(FILE), project.text()).unwrap();
        let read = Project::read(dir.path()).unwrap();
        assert_eq!(
            (read.name.as_str(), read.kind, read.lang),
            ("quiet", project.kind, project.lang)
        );
        assert_eq!(read.component(), dir.path().join("build/quiet.wasm"));
    }

    #[test]
    fn a_folder_without_the_file_and_a_wrong_file_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let error = Project::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("waxwing plugin new"), "{error}");
        fs::write(dir.path().join(FILE), "name = \"x\"\nkind = \"prices\"\n").unwrap();
        let error = Project::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("prices") && error.contains("line 2"), "{error}");
    }
}
