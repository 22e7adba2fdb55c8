//! The files of a new plugin project: a template by language and kind, the interface, the SDK.

mod files;
mod lock;
pub mod project;
mod sdk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, File, include_dir};

pub use files::Files;
pub use sdk::SdkError;

use files::each;
use project::{Language, Project, ProjectKind};

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scaffold");
static INTERFACE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../wit/v0");

/// All files of a project. What is special to a kind in a language replaces what is common.
///
/// # Errors
/// The SDK inside this program cannot be written out: a defect of its build.
pub fn files(project: &Project) -> Result<Files, SdkError> {
    let (kind, language) = (project.kind.name(), project.lang.name());
    let mut files = BTreeMap::new();
    for (folder, below) in [
        (format!("kinds/{kind}/cases"), "cases"),
        (format!("languages/{language}"), ""),
        (format!("kinds/{kind}/{language}"), ""),
    ] {
        if let Some(dir) = TEMPLATES.get_dir(&folder) {
            each(dir, &mut |path, file| {
                files.extend([from_template(project, &Path::new(below).join(path), file)]);
            });
        }
    }
    each(&INTERFACE, &mut |path, file| {
        let path = Path::new(interface_folder(project.lang)).join(path);
        files.insert(path, file.contents().to_vec());
    });
    if project.lang == Language::Rust {
        files.extend(sdk::files()?);
    }
    files.insert(project::FILE.into(), project.text().into_bytes());
    Ok(files)
}

/// The SDK's bindings read the interface at this place beside it; elsewhere it is at hand.
fn interface_folder(language: Language) -> &'static str {
    match language {
        Language::Rust => "vendor/wit/v0",
        Language::Js | Language::Python => "wit/v0",
    }
}

/// A template's name may end with `.in`, so that the tools of this repository leave it alone.
fn from_template(project: &Project, path: &Path, file: &File<'_>) -> (PathBuf, Vec<u8>) {
    let path = match path.extension() {
        Some(extension) if extension == "in" => path.with_extension(""),
        Some(_) | None => path.to_path_buf(),
    };
    let path = if path.ends_with("gitignore") { path.with_file_name(".gitignore") } else { path };
    let text = String::from_utf8_lossy(file.contents())
        .replace("__NAME__", &project.name)
        .replace("__KIND__", project.kind.name())
        .replace("__WHAT__", project.kind.noun())
        .replace("__WORLD__", project.kind.world())
        .replace("__TOOLCHAIN__", sdk::toolchain());
    (path, text.into_bytes())
}

impl ProjectKind {
    pub fn noun(self) -> &'static str {
        match self {
            Self::Plan => "plan policy",
            Self::Domain => "domain policy",
            Self::Renderer => "renderer",
            Self::Mjml => "MJML compiler",
        }
    }
}

#[cfg(test)]
mod tests;
