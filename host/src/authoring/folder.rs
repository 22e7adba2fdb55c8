//! Templates as folders: the starters, which are embedded, and those of an author's own disk.

mod files;
mod format;
pub mod merge;
pub mod state;

use std::path::Path;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde_json::json;

use super::error::{AuthoringError, FileFault, FolderError};
use super::{Authoring, Place, PublishOptions, PublishOutcome, newest};
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

pub use files::{Entry, Files, PathKind, STATE, look, name_of};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../templates/email");

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
    static STARTERS: LazyLock<Result<Vec<Entry>, FolderError>> =
        LazyLock::new(|| Files::embedded(&EMBEDDED).and_then(|it| it.entries()));
    let entries = STARTERS.as_ref().map_err(FolderError::Starters)?;
    let templates = entries.iter().filter(|it| it.kind == TemplateKind::Template);
    templates.map(|it| Ok((it.slug.clone(), with_layout(it, entries)?))).collect()
}

/// A template from a folder on disk; its layout is in `_layouts` beside the folder.
///
/// # Errors
/// It cannot be read, or has faults.
pub fn from_disk(folder: &Path, slug: &Slug) -> Result<Folder, FolderError> {
    let entries = Files::of_template(folder, slug)?.entries()?;
    let template = entries.iter().find(|it| it.kind == TemplateKind::Template);
    let template = template.ok_or_else(|| FolderError::File {
        path: folder.join("template.toml"),
        source: std::io::ErrorKind::NotFound.into(),
    })?;
    with_layout(template, &entries)
}

fn with_layout(template: &Entry, all: &[Entry]) -> Result<Folder, FolderError> {
    let layout = template.source.layout.as_ref().map(|name| {
        let found = all.iter().find(|it| it.kind == TemplateKind::Layout && it.slug == *name);
        found.map(|it| (name.clone(), it.source.clone())).ok_or_else(|| {
            let fault = FileFault::NoLayout { name: name.clone(), folder: files::LAYOUTS };
            FolderError::Malformed { path: template.slug.as_str().into(), fault }
        })
    });
    Ok(Folder { source: template.source.clone(), layout: layout.transpose()? })
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
    fn every_starter_is_the_same_after_it_was_written_as_files() {
        let read = Files::embedded(&EMBEDDED).expect("readable");
        let entries = read.entries().expect("sound");
        let mut written = Files::default();
        for entry in &entries {
            written.extend(Files::of(entry));
        }
        assert_eq!(written.entries().expect("sound"), entries);
        assert_eq!(merge::changes(&read, &written), Vec::new(), "what says the same stays");
    }
}
