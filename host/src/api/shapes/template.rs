//! Templates, layouts and partials.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::authoring::breaking::BreakingChange;
use crate::authoring::contract::SenderContract;
use crate::authoring::contract::snippets::Snippet;
use crate::authoring::diff::PartDiff;
use crate::authoring::finding::Finding;
use crate::authoring::import::Import;
use crate::authoring::preview::{Preview, PreviewMjml};
use crate::authoring::{PublishOutcome, RollbackOutcome, Usage, Validation, newest};
use crate::clock::Timestamp;
use crate::id::TemplateId;
use crate::store::{Republication, TemplateOwner, TemplateRow, VersionRow};
use crate::template::compiled::{Compiled, Compiler};
use crate::template::source::TemplateSource;
use crate::template::version::{Block, Variable};

/// A template, layout or partial, without its texts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSummary {
    /// `tpl_…`
    #[schema(value_type = String)]
    id: TemplateId,
    /// The name by which it is sent, or used.
    slug: String,
    /// `template`, `layout` or `partial`.
    kind: &'static str,
    /// `account`, or `server` for one that all accounts share.
    owner: &'static str,
    /// What a person calls it.
    name: String,
    /// When to send it.
    description: String,
    tags: Vec<String>,
    state: TemplateState,
    /// The version that is sent; none before the first one.
    published_revision: Option<u64>,
    #[schema(format = "date-time")]
    published_at: Option<String>,
    /// Whether the draft differs from the published version.
    has_draft: bool,
    #[schema(format = "date-time")]
    draft_at: Option<String>,
    /// `key_…`, or `cli`.
    draft_by: Option<String>,
    /// The locales that it has, its own first.
    locales: Vec<String>,
    /// Messages accepted in the last 30 days.
    sent_last30_days: u64,
    /// Sends refused in the last 30 days after a plugin was asked: by the plan, the sender domain, the renderer or the
    /// balance.
    refused_last30_days: u64,
    /// Messages that bounced or failed in the last 30 days.
    failed_last30_days: u64,
    /// Since when it cannot be sent, or used.
    #[schema(format = "date-time")]
    archived_at: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
    /// For `If-Match`; moves with each change.
    etag: String,
}

/// Where a template is in its life.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TemplateState {
    /// Never published.
    Draft,
    /// It can be sent, or used.
    Published,
    /// It cannot; publishing or a roll-back brings it back.
    Archived,
}

/// A template, layout or partial.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    #[serde(flatten)]
    summary: TemplateSummary,
    /// The newest source: the draft, or what is published.
    draft: TemplateSource,
    /// What the published version reads.
    variables: Vec<Variable>,
}

/// A version, without its texts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateVersionSummary {
    revision: u64,
    /// Whether it is the one that is sent, or used.
    published: bool,
    /// `key_…`, or `cli`.
    author: Option<String>,
    /// Why, in the author's words.
    note: Option<String>,
    #[schema(format = "date-time")]
    created_at: String,
    /// When it was brought back, by a roll-back or from the archive, newest first; of a page of versions at most 200.
    republications: Vec<TemplateRepublication>,
}

/// A time at which a version was published again.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateRepublication {
    #[schema(format = "date-time")]
    at: String,
    /// `key_…`, or `cli`.
    author: String,
    /// Why, in the author's words.
    note: Option<String>,
}

/// A version; it never changes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateVersion {
    #[serde(flatten)]
    summary: TemplateVersionSummary,
    source: TemplateSource,
    variables: Vec<Variable>,
    /// What its MJML was compiled to when it was published; another compiler changes nothing of it.
    compiled: Option<Compiled>,
    /// The layout that it was published with.
    layout: Option<UsedBlock>,
    /// The partials that it was published with.
    partials: Vec<UsedBlock>,
}

/// A layout or partial at one revision.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsedBlock {
    name: String,
    revision: u64,
}

/// What was published.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedTemplate {
    revision: u64,
    /// The published version had the same content already: there is no new one.
    unchanged: bool,
    warnings: Vec<Finding>,
    /// What senders have to mend, where it was forced or rolled back.
    breaking: Vec<BreakingChange>,
    /// Templates that have a new version with it.
    touched: Vec<String>,
    template: Template,
}

/// What publishing would find.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateValidation {
    /// Whether it can be published; it may still break senders.
    valid: bool,
    diagnostics: Vec<Finding>,
    /// What it reads.
    variables: Vec<Variable>,
    breaking: Vec<BreakingChange>,
    sent_last30_days: u64,
    /// Templates that get a new version with it.
    touched: Vec<String>,
}

/// What a recipient would see.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplatePreview {
    parts: PreviewParts,
    /// The locale that was chosen.
    locale: String,
    /// Variables that the data does not have: required ones are shown with a stand-in, others blank.
    missing: Vec<String>,
    /// Members of the data that nothing reads.
    unused: Vec<String>,
    warnings: Vec<Finding>,
    sizes: PreviewSizes,
    /// The text part is made of the HTML part.
    derived_text: bool,
    /// Of a template in MJML: its source in that locale, and what that was compiled to.
    mjml: Option<TemplatePreviewMjml>,
}

/// MJML, and what it was compiled to.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplatePreviewMjml {
    source: String,
    /// With Liquid, as it is rendered.
    html: String,
    compiler: Compiler,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewParts {
    subject: String,
    preheader: Option<String>,
    html: Option<String>,
    text: Option<String>,
}

/// In bytes.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewSizes {
    html: usize,
    text: usize,
    /// The whole message.
    message: usize,
}

/// What differs between two sources.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateDiff {
    /// The parts that differ.
    parts: Vec<TemplatePartDiff>,
}

/// A part that differs.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplatePartDiff {
    /// As in `html` or `locales.de.subject`.
    part: String,
    /// In unified form.
    unified: String,
}

/// A JSON Schema of the draft 2020-12.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct TemplateSchema(pub Value);

/// Code that sends a template.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateSnippets {
    slug: String,
    /// The version whose example stands in it; none of a draft, which cannot be sent.
    revision: Option<u64>,
    snippets: Vec<TemplateSnippet>,
}

/// A program that sends one message. The key is in its environment, as `WAXWING_API_KEY`.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateSnippet {
    #[schema(value_type = SnippetLanguage)]
    lang: &'static str,
    /// What a person calls the language.
    title: &'static str,
    /// A name for a file of it, as in `send.py`.
    file: &'static str,
    /// What runs the file.
    command: &'static str,
    code: String,
}

/// A language of code that sends.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "named in the document of the API")]
pub enum SnippetLanguage {
    Curl,
    Node,
    Python,
    Php,
    Ruby,
    Go,
    Smtp,
}

/// A template that is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedTemplate {
    pub slug: String,
    /// Always true.
    pub deleted: bool,
}

pub type TemplateList = Page<TemplateSummary>;
pub type TemplateVersionList = Page<TemplateVersionSummary>;

impl Listed for TemplateSummary {
    const PAGE: PageDoc = PageDoc {
        name: "TemplateList",
        about: "Some templates, layouts or partials.",
        data: "By slug.",
        ..PAGED
    };
}

impl Listed for TemplateVersionSummary {
    const PAGE: PageDoc = PageDoc {
        name: "TemplateVersionList",
        about: "Some versions.",
        data: "Newest first.",
        ..PAGED
    };
}

impl TemplateSummary {
    pub fn new(row: &TemplateRow, usage: Usage) -> Self {
        let source = newest(row);
        let published = row.published.as_ref();
        let is_other =
            |it: &VersionRow| row.draft.as_ref().is_some_and(|draft| draft.source != it.source);
        Self {
            id: row.id,
            slug: row.slug.to_string(),
            kind: row.kind.as_str(),
            owner: match row.owner {
                TemplateOwner::Account(_) => "account",
                TemplateOwner::Server => "server",
            },
            name: source.name.clone(),
            description: source.description.clone(),
            tags: source.tags.clone(),
            state: match (row.archived_at, published) {
                (_, None) => TemplateState::Draft,
                (Some(_), Some(_)) => TemplateState::Archived,
                (None, Some(_)) => TemplateState::Published,
            },
            published_revision: published.map(|it| it.revision),
            published_at: published.map(|it| it.created_at.rfc3339()),
            has_draft: published.is_none_or(is_other),
            draft_at: row.draft.as_ref().map(|it| it.at.rfc3339()),
            draft_by: row.draft.as_ref().map(|it| it.by.clone()),
            locales: source.all_locales().map(|it| it.tag.to_string()).collect(),
            sent_last30_days: usage.sent,
            refused_last30_days: usage.refused,
            failed_last30_days: usage.failed,
            archived_at: row.archived_at.map(Timestamp::rfc3339),
            created_at: row.created_at.rfc3339(),
            etag: etag(row),
        }
    }
}

/// What `If-Match` is held against.
pub fn etag(row: &TemplateRow) -> String {
    format!("\"{}\"", row.edition)
}

impl Template {
    pub fn new(row: &TemplateRow, usage: Usage) -> Self {
        Self {
            summary: TemplateSummary::new(row, usage),
            draft: newest(row).clone(),
            variables: row.published.as_ref().map(|it| it.variables.clone()).unwrap_or_default(),
        }
    }
}

impl TemplateVersionSummary {
    pub fn new(version: &VersionRow, row: &TemplateRow) -> Self {
        Self {
            revision: version.revision,
            published: row.published.as_ref().is_some_and(|it| it.revision == version.revision),
            author: version.author.clone(),
            note: version.note.clone(),
            created_at: version.created_at.rfc3339(),
            republications: version.republications.iter().map(republication).collect(),
        }
    }
}

fn republication(it: &Republication) -> TemplateRepublication {
    let (author, note) = (it.author.clone(), it.note.clone());
    TemplateRepublication { at: it.at.rfc3339(), author, note }
}

impl TemplateVersion {
    pub fn new(version: VersionRow, row: &TemplateRow) -> Self {
        let used = |it: &Block| UsedBlock { name: it.name.to_string(), revision: it.revision };
        Self {
            summary: TemplateVersionSummary::new(&version, row),
            layout: version.blocks.layout.as_ref().map(used),
            partials: version.blocks.partials.iter().map(used).collect(),
            source: version.source,
            compiled: version.compiled,
            variables: version.variables,
        }
    }
}

impl PublishedTemplate {
    pub fn new(outcome: PublishOutcome, usage: Usage) -> Self {
        let PublishOutcome { row, revision, unchanged, warnings, breaking, touched } = outcome;
        let template = Template::new(&row, usage);
        Self { revision, unchanged, warnings, breaking, touched, template }
    }

    pub fn rolled_back(outcome: RollbackOutcome, usage: Usage) -> Self {
        let RollbackOutcome { row, revision, breaking, touched } = outcome;
        let (template, warnings) = (Template::new(&row, usage), Vec::new());
        Self { revision, unchanged: false, warnings, breaking, touched, template }
    }
}

impl From<Validation> for TemplateValidation {
    fn from(it: Validation) -> Self {
        let valid = it.is_valid();
        let Validation { findings, variables, breaking, sent, touched } = it;
        Self { valid, diagnostics: findings, variables, breaking, sent_last30_days: sent, touched }
    }
}

impl From<Preview> for TemplatePreview {
    fn from(it: Preview) -> Self {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let sizes = PreviewSizes {
            html: length(&it.parts.html),
            text: length(&it.parts.text),
            message: it.message_bytes,
        };
        let parts = PreviewParts {
            subject: it.parts.subject,
            preheader: it.parts.preheader,
            html: it.parts.html,
            text: it.parts.text,
        };
        let (locale, missing, unused) = (it.locale, it.missing, it.unused);
        let (warnings, derived_text) = (it.warnings, it.derived_text);
        let mjml = it.mjml.map(|PreviewMjml { source, html, compiler }| TemplatePreviewMjml {
            source,
            html,
            compiler,
        });
        Self { parts, locale, missing, unused, warnings, sizes, derived_text, mjml }
    }
}

impl TemplateSnippets {
    pub fn new(contract: &SenderContract, snippets: Vec<Snippet>) -> Self {
        let snippet = |it: Snippet| TemplateSnippet {
            lang: it.language.as_str(),
            title: it.language.title(),
            file: it.language.file(),
            command: it.language.command(),
            code: it.code,
        };
        Self {
            slug: contract.slug.to_string(),
            revision: contract.revision,
            snippets: snippets.into_iter().map(snippet).collect(),
        }
    }
}

impl TemplateDiff {
    pub fn new(parts: Vec<PartDiff>) -> Self {
        let part = |it: PartDiff| TemplatePartDiff { part: it.part, unified: it.unified };
        Self { parts: parts.into_iter().map(part).collect() }
    }
}

/// A template to add: with a draft, of a starter, or of nothing.
#[derive(Serialize, ToSchema)]
pub struct CreateTemplate {
    /// The name by which it is sent, or used.
    #[schema(pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", min_length = 1, max_length = 64)]
    slug: String,
    /// The first draft; none where `starter` is given.
    draft: Option<TemplateSource>,
    /// A starter template, as in `receipt`; its layout is added where there is none of its name.
    starter: Option<String>,
}

/// How to publish.
#[derive(Serialize, ToSchema)]
pub struct PublishTemplate {
    /// Also where sends that are accepted today would be refused.
    force: Option<bool>,
    /// Why, in your own words.
    #[schema(max_length = 500)]
    note: Option<String>,
}

/// Which version comes back.
#[derive(Serialize, ToSchema)]
pub struct RollbackTemplate {
    #[schema(minimum = 1)]
    revision: u64,
    /// Why, in your own words.
    #[schema(max_length = 500)]
    note: Option<String>,
}

/// Where the copy goes.
#[derive(Serialize, ToSchema)]
pub struct DuplicateTemplate {
    #[schema(pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", min_length = 1, max_length = 64)]
    slug: String,
}

/// What to check.
#[derive(Serialize, ToSchema)]
pub struct ValidateTemplate {
    /// Instead of the newest source.
    draft: Option<TemplateSource>,
}

/// What to show.
#[derive(Serialize, ToSchema)]
pub struct PreviewTemplate {
    /// The variables; need not be complete.
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    /// An example by its name, where there is no data; else `default`, or the first one.
    example: Option<String>,
    /// As in `de-AT`.
    #[schema(max_length = 35)]
    locale: Option<String>,
    /// `draft`; `drafts`, which is the draft with the drafts of its layout and partials; `published`; or a revision.
    #[schema(example = "draft")]
    of: Option<String>,
    /// A draft that is not saved, and stays so; `of` is then `draft` or `drafts`.
    draft: Option<TemplateSource>,
}

/// To whom a test goes, with what.
#[derive(Serialize, ToSchema)]
pub struct TestTemplate {
    /// Confirmed test recipients get it really, charged as any other send; that to others is in the sandbox inbox only.
    #[schema(min_items = 1, max_items = 10)]
    to: Vec<String>,
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    /// An example by its name, where there is no data.
    example: Option<String>,
    /// As in `de-AT`.
    #[schema(max_length = 35)]
    locale: Option<String>,
}

/// What became of a zip file.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateImport {
    /// Whether the server now holds the content of the file; of a check, whether it would.
    success: bool,
    /// Partials, layouts and templates, in the order in which they are published.
    data: Vec<ImportedTemplate>,
}

/// What became of a template, layout or partial.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedTemplate {
    /// `template`, `layout` or `partial`.
    kind: &'static str,
    slug: String,
    /// `unchanged`, `created`, `changed`, `published` (its draft was the same), `conflict` (it was changed here since
    /// the file was exported), `refused`, or `skipped` because another one was refused.
    outcome: &'static str,
    /// The published revision.
    revision: Option<u64>,
    /// Of the source that is here now, if that is the one of the file.
    digest: Option<String>,
    diagnostics: Vec<Finding>,
    breaking: Vec<BreakingChange>,
    /// Messages of the last 30 days whose senders would be broken.
    sent: u64,
    /// Templates that have a new version with it.
    touched: Vec<String>,
    /// Why it was refused.
    message: Option<String>,
}

impl From<Import> for TemplateImport {
    fn from(import: Import) -> Self {
        let success = import.success();
        let data = import.entries.into_iter().map(|it| ImportedTemplate {
            kind: it.kind.as_str(),
            slug: it.slug.to_string(),
            outcome: it.outcome.as_str(),
            revision: it.revision,
            digest: it.digest,
            diagnostics: it.findings,
            breaking: it.breaking,
            sent: it.sent,
            touched: it.touched,
            message: it.message,
        });
        Self { success, data: data.collect() }
    }
}
