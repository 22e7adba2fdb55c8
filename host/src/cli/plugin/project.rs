//! Which component a command is about: a file, or what the project in a folder has built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::error::ToolError;
use super::local_validation::{ToolHost, read};
use super::scaffold::project::{Project, ProjectKind};
use crate::plugin::ReadError;
use crate::plugin::slot::{SlotConfig, SlotName};
use crate::plugin::validation::ValidationInput;
use crate::plugin::{Artifact, Kind};

/// A component, and what holds for it.
#[derive(Debug, Clone, Args)]
pub struct Which {
    /// A component, or the folder of a plugin project
    #[arg(default_value = ".")]
    component: PathBuf,
    /// The file of the slot it is for, with its settings and limits [default: the .toml beside it]
    #[arg(long, value_name = "FILE")]
    slot_file: Option<PathBuf>,
    /// The kind that it must be of
    #[arg(long)]
    kind: Option<ProjectKind>,
    /// Its golden cases [default: cases/ of the project, or the .cases/ beside the component]
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
}

/// What a command is about.
#[derive(Debug)]
pub struct Subject {
    /// The component's file.
    pub path: PathBuf,
    pub artifact: Artifact,
    /// What is to be validated.
    pub candidate: ValidationInput,
    /// Where its golden cases are, if it has any.
    pub cases: PathBuf,
}

impl Which {
    /// The component that a path means, and nothing said about it.
    pub fn at(component: PathBuf) -> Self {
        Self { component, slot_file: None, kind: None, cases: None }
    }

    /// Reads the component and what lies beside it, named as in a server's directory of plugins.
    pub fn find(&self, host: &ToolHost) -> Result<Subject, ToolError> {
        let project =
            if self.component.is_dir() { Some(Project::read(&self.component)?) } else { None };
        let path = project.as_ref().map_or_else(|| self.component.clone(), Project::component);
        if project.is_some() && !path.exists() {
            return Err(ToolError::NotBuilt { path });
        }
        let artifact = artifact(&path, host.largest)?;
        let slot_file = match &self.slot_file {
            Some(file) => Some(file.clone()),
            None => beside(&path, "toml"),
        };
        let slot = match (&self.slot_file, &project) {
            (Some(file), _) => stem(file).parse()?,
            (None, Some(project)) => project.name.parse()?,
            (None, None) => slot_named_after(&path),
        };
        let mut config = match &slot_file {
            Some(file) => SlotConfig::parse(&slot, &text(file)?)?,
            None => SlotConfig::default(),
        };
        let of_project = || project.as_ref().map(|it| kind(it.kind));
        config.kind = self.kind.map(kind).or(config.kind).or_else(of_project);
        let cases = match (&self.cases, &project) {
            (Some(cases), _) => cases.clone(),
            (None, Some(project)) => project.cases(),
            (None, None) => path.with_extension("cases"),
        };
        let signature = match beside(&path, "sig") {
            Some(file) => Some(text(&file)?),
            None => None,
        };
        let candidate = ValidationInput {
            slot,
            component: Some(artifact.clone()),
            signature,
            config: Arc::new(config),
            settings_revision: 0,
        };
        Ok(Subject { path, artifact, candidate, cases })
    }
}

/// A component of at most that many bytes.
pub fn artifact(path: &Path, largest: u64) -> Result<Artifact, ToolError> {
    let bytes = std::fs::metadata(path).map_or(0, |it| it.len());
    if bytes > largest {
        let path = path.to_owned();
        return Err(ReadError::TooLarge { path, limit: largest }.into());
    }
    Ok(Artifact::new(read(path)?))
}

/// A text file, whatever bytes are in it.
pub fn text(path: &Path) -> Result<String, ToolError> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

fn beside(component: &Path, extension: &str) -> Option<PathBuf> {
    Some(component.with_extension(extension)).filter(|it| it.is_file())
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Compilers write `_` where a slot has `-`; a name that is no slot's does not matter here.
fn slot_named_after(component: &Path) -> SlotName {
    let name = stem(component).replace('_', "-");
    name.parse().unwrap_or_else(|_| "plugin".parse().expect("a slot's name"))
}

/// The server's word for what a project decides.
pub fn kind(kind: ProjectKind) -> Kind {
    match kind {
        ProjectKind::Plan => Kind::Plan,
        ProjectKind::Domain => Kind::Domain,
        ProjectKind::Renderer => Kind::Renderer,
        ProjectKind::Mjml => Kind::Mjml,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_named_after_its_component() {
        assert_eq!(slot_named_after(Path::new("target/price_one.wasm")).as_str(), "price-one");
        assert_eq!(slot_named_after(Path::new("Größe 1.wasm")).as_str(), "plugin");
    }

    #[test]
    fn a_component_that_is_too_large_names_the_setting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.wasm");
        std::fs::write(&path, [0; 100]).unwrap();
        assert!(artifact(&path, 100).is_ok());
        let error = artifact(&path, 99).unwrap_err().to_string();
        assert!(error.contains("plugins.max_component_bytes is 99"), "{error}");
    }
}
