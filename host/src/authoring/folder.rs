//! Templates as folders: the starters, which are embedded, and those of an author's own disk.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::{AuthoringError, FolderError};
use super::{Authoring, Place, PublishOptions, PublishOutcome, newest, parse};
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::imported::with_unescaped_liquid;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../templates/email");
const LAYOUTS: &str = "_layouts";

/// `template.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    #[serde(rename = "description")]
    purpose: String,
    #[serde(default)]
    tags: Vec<String>,
    layout: Option<Slug>,
    sender: Option<String>,
    required_plan: Option<String>,
    #[serde(default)]
    strict: bool,
    #[serde(default, rename = "variable")]
    variables: Vec<Value>,
    #[serde(default)]
    example: Map<String, Value>,
}

/// A template folder, read.
#[derive(Debug, Clone)]
pub struct Folder {
    pub source: TemplateSource,
    /// Its layout by name, and the text of that.
    pub layout: Option<(Slug, String)>,
}

/// What becomes of a layout that is there and has another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingLayout {
    /// It stays: what an author has made of a starter's layout is the author's.
    Kept,
    /// It is published with the folder's text, with everything that is made of it.
    Replaced,
}

/// All starter templates, by slug.
///
/// # Errors
/// The binary was built of a broken one.
pub fn starters() -> Result<Vec<(Slug, Folder)>, FolderError> {
    let folders = EMBEDDED.dirs().filter(|folder| folder.path() != Path::new(LAYOUTS));
    folders
        .map(|folder| {
            let path = folder.path().to_owned();
            let read = |path: PathBuf| {
                let file = EMBEDDED.get_file(&path);
                Ok(file.and_then(|file| file.contents_utf8()).map(str::to_owned))
            };
            let slug = path.display().to_string().parse();
            let slug = slug.map_err(|error: crate::template::slug::InvalidSlug| {
                FolderError::Malformed { path: path.clone(), message: error.to_string() }
            })?;
            Ok((slug, load(&path, Path::new(LAYOUTS), read)?))
        })
        .collect()
}

/// A template from a folder on disk; its layout is in `_layouts` beside the folder.
///
/// # Errors
/// It cannot be read, or has faults.
pub fn from_disk(folder: &Path) -> Result<Folder, FolderError> {
    let layouts = folder.parent().unwrap_or(Path::new(".")).join(LAYOUTS);
    load(folder, &layouts, |path| match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FolderError::File { path, source }),
    })
}

fn load(
    folder: &Path,
    layouts: &Path,
    read: impl Fn(PathBuf) -> Result<Option<String>, FolderError>,
) -> Result<Folder, FolderError> {
    let file = folder.join("template.toml");
    let missing = |path: PathBuf| {
        let source = std::io::ErrorKind::NotFound.into();
        FolderError::File { path, source }
    };
    let text = read(file.clone())?.ok_or_else(|| missing(file.clone()))?;
    let description: Description = toml::from_str(&text).map_err(|error| {
        FolderError::Malformed { path: file.clone(), message: error.to_string() }
    })?;
    let subject = folder.join("subject.liquid");
    let layout = match description.layout {
        None => None,
        Some(name) => {
            let path = layouts.join(format!("{name}.liquid"));
            Some((name, read(path.clone())?.ok_or_else(|| missing(path))?))
        }
    };
    let mut examples = Map::new();
    if !description.example.is_empty() {
        examples.insert("default".to_owned(), Value::Object(description.example));
    }
    let body = json!({
        "name": description.name,
        "description": description.purpose,
        "subject": read(subject.clone())?.ok_or_else(|| missing(subject))?,
        "preheader": read(folder.join("preheader.liquid"))?,
        "html": read(folder.join("html.liquid"))?.as_deref().map(with_unescaped_liquid),
        "text": read(folder.join("text.liquid"))?,
        "layout": layout.as_ref().map(|(name, _)| name),
        "sender": description.sender,
        "requiredPlan": description.required_plan,
        "strict": description.strict,
        "tags": description.tags,
        "variables": description.variables,
        "examples": examples,
    });
    let source = parse::source(&body, TemplateKind::Template)
        .map_err(|faults| FolderError::Faults { path: folder.to_owned(), faults })?;
    Ok(Folder { source, layout })
}

impl Authoring {
    /// Adds a template with the text of a starter. Its layout is added where there is none of its name.
    ///
    /// # Errors
    /// There is no such starter, or a template of that name already.
    pub async fn create_from_starter(
        &self,
        place: &Place,
        starter: &str,
        author: &str,
    ) -> Result<TemplateRow, AuthoringError> {
        let all = starters()?;
        let found = all.iter().find(|(slug, _)| slug.as_str() == starter);
        let Some((_, folder)) = found else {
            let known: Vec<&str> = all.iter().map(|(slug, _)| slug.as_str()).collect();
            let (name, known) = (starter.to_owned(), known.join(", "));
            return Err(AuthoringError::NoStarter { name, known });
        };
        self.put_layout(place.owner, folder, ExistingLayout::Kept, author).await?;
        self.create(place, &folder.source, author).await
    }

    /// Publishes a folder: its layout, then the template.
    ///
    /// # Errors
    /// One of them has faults, or would break senders.
    pub async fn publish_folder(
        &self,
        place: &Place,
        folder: &Folder,
        existing: ExistingLayout,
        options: &PublishOptions,
        author: &str,
    ) -> Result<PublishOutcome, AuthoringError> {
        self.put_layout(place.owner, folder, existing, author).await?;
        match self.find(place).await {
            Ok(row) if newest(&row) == &folder.source => {}
            Ok(_) => {
                self.replace_draft(place, None, &folder.source, author).await?;
            }
            Err(AuthoringError::Missing { .. }) => {
                self.create(place, &folder.source, author).await?;
            }
            Err(error) => return Err(error),
        }
        self.publish(place, options, author).await
    }

    async fn put_layout(
        &self,
        owner: TemplateOwner,
        folder: &Folder,
        existing: ExistingLayout,
        author: &str,
    ) -> Result<(), AuthoringError> {
        let Some((slug, html)) = &folder.layout else { return Ok(()) };
        let kind = TemplateKind::Layout;
        let place = Place { owner, kind, slug: slug.clone() };
        match self.find(&place).await {
            Ok(row) => {
                let has_text = newest(&row).html.as_ref() == Some(html);
                if existing == ExistingLayout::Kept && row.published.is_some() {
                    return Ok(());
                }
                if !has_text {
                    let patch = json!({"html": html});
                    self.patch_draft(&place, None, &patch, author).await?;
                }
            }
            Err(AuthoringError::Missing { .. }) => {
                let shared = Place { owner: TemplateOwner::Server, ..place.clone() };
                if existing == ExistingLayout::Kept && self.find(&shared).await.is_ok() {
                    return Ok(());
                }
                let source = TemplateSource {
                    name: slug.to_string(),
                    html: Some(html.clone()),
                    ..TemplateSource::default()
                };
                self.create(&place, &source, author).await?;
            }
            Err(error) => return Err(error),
        }
        self.publish(&place, &PublishOptions::default(), author).await.map(drop)
    }
}
