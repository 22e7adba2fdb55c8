//! The life of a template, a layout or a partial on the server of this machine.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::super::error::CliError;
use super::super::open::{Opened, Target};
use super::super::output::{note_act, text};
use super::super::publish_folder::AUTHOR;
use super::disk;
use crate::api::shapes::{
    DeletedTemplate, PublishedTemplate, Template, TemplatePreview, TemplateVersionSummary,
};
use crate::authoring::preview::{PreviewOf, PreviewOptions};
use crate::authoring::{Authoring, Place, PublishOptions};
use crate::id::AccountId;
use crate::management::acts;
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;

/// Versions that are listed, at most.
const MAX_LISTED: u32 = 500;

/// Which one.
#[derive(Debug, Clone, Args)]
pub struct Which {
    /// `acc_…`
    #[arg(long)]
    account: AccountId,
    /// What it is
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    /// Its name
    slug: Slug,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum Kind {
    #[default]
    Template,
    Layout,
    Partial,
}

/// Publish the draft, if it has no faults and breaks no senders
#[derive(Debug, Args)]
pub struct Publish {
    /// Publish it also where sends that are accepted today would be refused
    #[arg(long)]
    force: bool,
    /// Why, for the version
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// Bring an earlier version back, at once
#[derive(Debug, Args)]
pub struct Rollback {
    /// The version, as `waxwing template versions` lists it
    #[arg(long)]
    revision: u64,
    /// Why
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// Add another one with the same newest source
#[derive(Debug, Args)]
pub struct Duplicate {
    /// Its name
    #[arg(long = "as", value_name = "SLUG")]
    copy: Slug,
    #[command(flatten)]
    which: Which,
}

/// Show what a recipient would see
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing template preview receipt --account acc_… --locale de --to preview")]
pub struct Preview {
    /// `draft`, `published` or a revision
    #[arg(long, default_value = "draft", value_parser = PreviewOf::from_word)]
    of: PreviewOf,
    /// A JSON file with the data [default: the template's example]
    #[arg(long, conflicts_with = "example")]
    data: Option<PathBuf>,
    /// The example of that name
    #[arg(long)]
    example: Option<String>,
    /// The recipient's locale, as in de-AT
    #[arg(long)]
    locale: Option<LocaleTag>,
    /// Write subject.txt, body.html and body.txt into this folder
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

pub async fn publish(it: Publish) -> Result<(), CliError> {
    let (_opened, authoring, place) = it.which.open().await?;
    let options = PublishOptions { seen: None, force: it.force, note: it.note };
    let outcome = authoring.publish(&place, &options, AUTHOR).await?;
    let usage = authoring.usage_of(&outcome.row).await?;
    told(&it.which, &json!(PublishedTemplate::new(outcome, usage)));
    Ok(())
}

pub async fn roll_back(it: Rollback) -> Result<(), CliError> {
    let (_opened, authoring, place) = it.which.open().await?;
    let note = it.note.as_deref();
    let outcome = authoring.roll_back(&place, it.revision, None, note, AUTHOR).await?;
    let usage = authoring.usage_of(&outcome.row).await?;
    told(&it.which, &json!(PublishedTemplate::rolled_back(outcome, usage)));
    Ok(())
}

pub async fn archive(which: Which) -> Result<(), CliError> {
    let (_opened, authoring, place) = which.open().await?;
    let row = authoring.archive(&place, None).await?;
    show(&which, &authoring, &row).await
}

pub async fn duplicate(it: Duplicate) -> Result<(), CliError> {
    let (_opened, authoring, place) = it.which.open().await?;
    let row = authoring.duplicate(&place, it.copy, AUTHOR).await?;
    note_act(acts::template_duplicated(&row.slug));
    show(&it.which, &authoring, &row).await
}

pub async fn delete(which: Which) -> Result<(), CliError> {
    let (_opened, authoring, place) = which.open().await?;
    let row = authoring.delete(&place, None).await?;
    let gone = json!(DeletedTemplate { slug: row.slug.to_string(), deleted: true });
    which.target.output.one(&gone, || format!("{} is deleted", row.slug));
    Ok(())
}

pub async fn versions(which: Which) -> Result<(), CliError> {
    let (opened, authoring, place) = which.open().await?;
    let row = authoring.find(&place).await?;
    let found = opened.store.template_versions(row.id, None, MAX_LISTED).await?;
    let versions: Vec<Value> =
        found.iter().map(|it| json!(TemplateVersionSummary::new(it, &row))).collect();
    which.target.output.list(&versions, |it| {
        let published = if it["published"] == true { "  (published)" } else { "" };
        let (revision, at, by) = (text(it, "revision"), text(it, "createdAt"), text(it, "author"));
        format!("version {revision}  {at}  {by}  {}{published}", text(it, "note"))
    });
    Ok(())
}

pub async fn preview(it: Preview) -> Result<(), CliError> {
    let data = it.data.as_ref().map(|path| read(path)).transpose()?;
    let (_opened, authoring, place) = it.which.open().await?;
    let options =
        PreviewOptions { of: it.of, draft: None, data, example: it.example, locale: it.locale };
    let preview = authoring.preview(&place, options).await?;
    let Some(folder) = &it.to else {
        let value = json!(TemplatePreview::from(preview));
        it.which.target.output.one(&value, || {
            let parts = &value["parts"];
            let body = if parts["text"].is_null() { &parts["html"] } else { &parts["text"] };
            format!("{}\n\n{}", text(parts, "subject"), body.as_str().unwrap_or_default())
        });
        return Ok(());
    };
    let parts = &preview.parts;
    let files = [
        ("subject.txt", Some(&parts.subject)),
        ("body.html", parts.html.as_ref()),
        ("body.txt", parts.text.as_ref()),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let Some(text) = text else { continue };
        let path = folder.join(name);
        disk::write_file(&path, text.as_bytes())?;
        written.push(json!({"path": path}));
    }
    it.which.target.output.list(&written, |it| text(it, "path"));
    Ok(())
}

impl Which {
    async fn open(&self) -> Result<(Opened, Authoring, Place), CliError> {
        let opened = self.target.open().await?;
        opened.store.account(self.account, opened.clock.now()).await?;
        let authoring = opened.authoring().await?;
        let owner = TemplateOwner::Account(self.account);
        let place = Place { owner, kind: self.kind.into(), slug: self.slug.clone() };
        Ok((opened, authoring, place))
    }
}

impl From<Kind> for TemplateKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Template => Self::Template,
            Kind::Layout => Self::Layout,
            Kind::Partial => Self::Partial,
        }
    }
}

fn read(path: &std::path::Path) -> Result<Map<String, Value>, CliError> {
    let text =
        std::fs::read(path).map_err(|source| CliError::File { path: path.to_owned(), source })?;
    serde_json::from_slice(&text)
        .map_err(|error| CliError::Usage(format!("{} is no JSON object: {error}", path.display())))
}

async fn show(which: &Which, authoring: &Authoring, row: &TemplateRow) -> Result<(), CliError> {
    let value = json!(Template::new(row, authoring.usage_of(row).await?));
    which.target.output.one(&value, || {
        format!("{}  {}  {}", text(&value, "slug"), text(&value, "state"), text(&value, "name"))
    });
    Ok(())
}

fn told(which: &Which, value: &Value) {
    which.target.output.one(value, || {
        let unchanged = if value["unchanged"] == true {
            "  (unchanged: it stays the published version)"
        } else {
            ""
        };
        let mut lines =
            vec![format!("{}  version {}{unchanged}", which.slug, text(value, "revision"))];
        for (member, what) in [("warnings", "warning"), ("breaking", "breaks senders")] {
            let all = value[member].as_array().map(Vec::as_slice).unwrap_or_default();
            lines.extend(all.iter().map(|it| format!("  {what}: {}", text(it, "message"))));
        }
        lines.join("\n")
    });
}
