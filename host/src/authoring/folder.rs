//! Templates as folders: the starters, which are embedded, and those of an author's own disk.

use std::path::Path;

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::{AuthoringError, FolderError};
use super::{Authoring, Place, PublishOptions, PublishOutcome, newest, parse};
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::imported::with_unescaped_liquid;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::{PLURAL_CATEGORIES, TemplateSource};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../templates/email");
const LAYOUTS: &str = "_layouts";
/// In place of `html.liquid`; editors know MJML by its ending.
const MJML: &str = "body.mjml";

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
    /// Its layout by name.
    pub layout: Option<(Slug, TemplateSource)>,
}

/// What publishing a folder does to a layout of the same name whose text differs from the folder's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingLayout {
    /// The layout stays: an author may have changed what came from a starter.
    Kept,
    /// The layout is published with the folder's text, and with it every template that uses the layout.
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
            let path = folder.path();
            let slug = path.display().to_string().parse();
            let slug = slug.map_err(|error: crate::template::slug::InvalidSlug| {
                FolderError::Malformed { path: path.to_owned(), message: error.to_string() }
            })?;
            Ok((slug, load(&Files::Embedded, path, Path::new(LAYOUTS))?))
        })
        .collect()
}

/// A template from a folder on disk; its layout is in `_layouts` beside the folder.
///
/// # Errors
/// It cannot be read, or has faults.
pub fn from_disk(folder: &Path) -> Result<Folder, FolderError> {
    load(&Files::Disk, folder, &folder.parent().unwrap_or(Path::new(".")).join(LAYOUTS))
}

/// Where folders are.
enum Files {
    Embedded,
    Disk,
}

impl Files {
    /// None where there is no such file.
    fn read(&self, path: &Path) -> Result<Option<String>, FolderError> {
        match self {
            Self::Embedded => {
                Ok(EMBEDDED.get_file(path).and_then(|it| it.contents_utf8()).map(str::to_owned))
            }
            Self::Disk => match std::fs::read_to_string(path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if is_absent(&error) => Ok(None),
                Err(source) => Err(FolderError::File { path: path.to_owned(), source }),
            },
        }
    }

    fn required(&self, path: &Path) -> Result<String, FolderError> {
        self.read(path)?.ok_or_else(|| FolderError::File {
            path: path.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        })
    }

    /// The folders in one, by name; none where there is no such folder.
    fn folders(&self, path: &Path) -> Result<Vec<String>, FolderError> {
        let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().into_owned());
        match self {
            Self::Embedded => {
                let folders = EMBEDDED.get_dir(path).into_iter().flat_map(Dir::dirs);
                Ok(folders.filter_map(|it| name(it.path())).collect())
            }
            Self::Disk => {
                let fault = |source| FolderError::File { path: path.to_owned(), source };
                let entries = match std::fs::read_dir(path) {
                    Ok(entries) => entries,
                    Err(error) if is_absent(&error) => return Ok(Vec::new()),
                    Err(error) => return Err(fault(error)),
                };
                let mut names = Vec::new();
                for entry in entries {
                    let entry = entry.map_err(fault)?;
                    if entry.file_type().map_err(fault)?.is_dir() {
                        names.extend(name(&entry.path()));
                    }
                }
                names.sort_unstable();
                Ok(names)
            }
        }
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn load(files: &Files, folder: &Path, layouts: &Path) -> Result<Folder, FolderError> {
    let file = folder.join("template.toml");
    let description: Description = table(&files.required(&file)?, &file)?;
    let layout =
        description.layout.map(|name| Ok((name.clone(), load_layout(files, layouts, &name)?)));
    let layout = layout.transpose()?;
    files.required(&folder.join("subject.liquid"))?;
    let mut examples = Map::new();
    if !description.example.is_empty() {
        examples.insert("default".to_owned(), Value::Object(description.example));
    }
    let mut body = texts(files, folder)?;
    body.extend([
        ("name".to_owned(), description.name.into()),
        ("description".to_owned(), description.purpose.into()),
        ("layout".to_owned(), json!(layout.as_ref().map(|(name, _)| name))),
        ("sender".to_owned(), description.sender.into()),
        ("requiredPlan".to_owned(), description.required_plan.into()),
        ("strict".to_owned(), description.strict.into()),
        ("tags".to_owned(), description.tags.into()),
        ("variables".to_owned(), description.variables.into()),
        ("examples".to_owned(), examples.into()),
    ]);
    Ok(Folder { source: source(body, TemplateKind::Template, folder)?, layout })
}

/// A layout is a file, or a folder where it has texts.
fn load_layout(files: &Files, layouts: &Path, name: &Slug) -> Result<TemplateSource, FolderError> {
    let file = layouts.join(format!("{name}.liquid"));
    let (path, mut body) = if let Some(html) = files.read(&file)? {
        (file, Map::from_iter([("html".to_owned(), html.into())]))
    } else {
        let folder = layouts.join(name.as_str());
        if files.read(&folder.join(MJML))?.is_none() {
            files.required(&folder.join("html.liquid"))?;
        }
        let body = texts(files, &folder)?;
        (folder, body)
    };
    body.insert("name".to_owned(), name.as_str().into());
    source(body, TemplateKind::Layout, &path)
}

fn source(
    body: Map<String, Value>,
    kind: TemplateKind,
    path: &Path,
) -> Result<TemplateSource, FolderError> {
    parse::source(&Value::Object(body), kind)
        .map_err(|faults| FolderError::Faults { path: path.to_owned(), faults })
}

/// The parts and messages of a folder, and those of its folder `locales`.
fn texts(files: &Files, folder: &Path) -> Result<Map<String, Value>, FolderError> {
    let mut all = texts_of_locale(files, folder)?;
    let locales_folder = folder.join("locales");
    let mut locales = Map::new();
    for tag in files.folders(&locales_folder)? {
        let texts = texts_of_locale(files, &locales_folder.join(&tag))?;
        locales.insert(tag, texts.into());
    }
    if !locales.is_empty() {
        all.insert("locales".to_owned(), locales.into());
    }
    Ok(all)
}

fn texts_of_locale(files: &Files, folder: &Path) -> Result<Map<String, Value>, FolderError> {
    let mut texts = Map::new();
    if let Some(mjml) = files.read(&folder.join(MJML))? {
        texts.insert("mjml".to_owned(), mjml.into());
    }
    for part in ["subject", "preheader", "html", "text"] {
        let Some(text) = files.read(&folder.join(format!("{part}.liquid")))? else { continue };
        let text = if part == "html" { with_unescaped_liquid(&text) } else { text };
        texts.insert(part.to_owned(), text.into());
    }
    let file = folder.join("messages.toml");
    if let Some(text) = files.read(&file)? {
        let mut messages = Map::new();
        flatten(table(&text, &file)?, "", &mut messages);
        texts.insert("messages".to_owned(), messages.into());
    }
    Ok(texts)
}

fn table<T: serde::de::DeserializeOwned>(text: &str, path: &Path) -> Result<T, FolderError> {
    toml::from_str(text).map_err(|error| FolderError::Malformed {
        path: path.to_owned(),
        message: error.to_string(),
    })
}

/// Tables in tables are keys with dots between them; a table of plural forms is one message.
fn flatten(table: Map<String, Value>, before: &str, messages: &mut Map<String, Value>) {
    for (name, value) in table {
        let key = if before.is_empty() { name } else { format!("{before}.{name}") };
        match value {
            Value::Object(inner) if !is_plural(&inner) => flatten(inner, &key, messages),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                messages.insert(key, value);
            }
        }
    }
}

fn is_plural(table: &Map<String, Value>) -> bool {
    table.contains_key("other")
        && table
            .iter()
            .all(|(name, it)| PLURAL_CATEGORIES.contains(&name.as_str()) && it.is_string())
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
        let Some((slug, source)) = &folder.layout else { return Ok(()) };
        let kind = TemplateKind::Layout;
        let place = Place { owner, kind, slug: slug.clone() };
        match self.find(&place).await {
            Ok(row) => {
                if existing == ExistingLayout::Kept && row.published.is_some() {
                    return Ok(());
                }
                if !has_texts_of(newest(&row), source) {
                    let patch = json!({
                        "html": source.html, "mjml": source.mjml, "messages": source.messages, "locales": source.locales,
                    });
                    self.patch_draft(&place, None, &patch, author).await?;
                }
            }
            Err(AuthoringError::Missing { .. }) => {
                let shared = Place { owner: TemplateOwner::Server, ..place.clone() };
                if existing == ExistingLayout::Kept && self.find(&shared).await.is_ok() {
                    return Ok(());
                }
                self.create(&place, source, author).await?;
            }
            Err(error) => return Err(error),
        }
        self.publish(&place, &PublishOptions::default(), author).await.map(drop)
    }
}

/// Whether a layout says what the folder's layout says; its name and description are its author's.
fn has_texts_of(layout: &TemplateSource, folder: &TemplateSource) -> bool {
    (&layout.html, &layout.mjml, &layout.messages, &layout.locales)
        == (&folder.html, &folder.mjml, &folder.messages, &folder.locales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_starter_has_all_locales_and_its_layout_has_them_too() {
        let starters = starters().expect("readable");
        assert_eq!(starters.len(), 15);
        let tags = ["ar", "de", "es", "fr", "ja", "pt"];
        for (slug, folder) in starters {
            let of = |source: &TemplateSource| -> Vec<String> {
                source.locales.keys().map(ToString::to_string).collect()
            };
            assert_eq!(of(&folder.source), tags, "{slug}");
            let (_, layout) = folder.layout.expect("a layout");
            assert_eq!(of(&layout), tags, "{slug}");
            for (tag, locale) in &folder.source.locales {
                let keys = |it: &std::collections::BTreeMap<String, _>| -> Vec<String> {
                    it.keys().cloned().collect()
                };
                assert_eq!(keys(&locale.messages), keys(&folder.source.messages), "{slug} {tag}");
            }
        }
    }

    #[test]
    fn tables_of_messages_are_keys_with_dots_and_plural_forms_one_message() {
        let text = "a = '1'\n[b.c]\nd = '2'\n[b.days]\none = 'a day'\nother = 'days'\n";
        let mut messages = Map::new();
        flatten(table(text, Path::new("m")).expect("a table"), "", &mut messages);
        let expected = json!({"a": "1", "b.c.d": "2", "b.days": {"one": "a day", "other": "days"}});
        assert_eq!(Value::Object(messages), expected);
    }
}
