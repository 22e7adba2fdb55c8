//! What a recipient would see: of the draft, of what is published, or of an earlier version.

use serde_json::{Map, Value};

use super::agreement::agreed;
use super::check::{Checkable, Checker, NotRendered, RenderedParts};
use super::error::AuthoringError;
use super::finding::Finding;
use super::resolve::{Resolved, Resolver};
use super::{Authoring, Place, lint, mjml, newest};
use crate::journey::accept::json::object::ObjectText;
use crate::journey::render::template::Parts;
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::store::{TemplateRow, VersionRow};
use crate::template::compiled::{Compiled, Compiler, rendered_source};
use crate::template::contract::{Contract, DataCheck};
use crate::template::locale::LocaleTag;
use crate::template::source::{Markup, SourcePart, TemplateSource};
use crate::template::trial::trial_data;
use crate::template::version::{Blocks, Variable};

/// What to show.
#[derive(Debug, Default)]
pub struct PreviewOptions {
    pub of: PreviewOf,
    /// A draft that is not saved, in place of the newest source.
    pub draft: Option<TemplateSource>,
    /// The data; else that of the example, else that of the default one.
    pub data: Option<Map<String, Value>>,
    pub example: Option<String>,
    pub locale: Option<LocaleTag>,
}

/// Which source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PreviewOf {
    /// The newest that its author has written.
    #[default]
    Draft,
    /// The same, with the drafts of its layout and partials: what publishing these would make of it.
    Drafts,
    Published,
    Revision(u64),
}

impl PreviewOf {
    /// `draft`, `drafts`, `published` or a revision.
    pub fn from_word(text: &str) -> Result<Self, &'static str> {
        match text {
            "draft" => Ok(Self::Draft),
            "drafts" => Ok(Self::Drafts),
            "published" => Ok(Self::Published),
            number => {
                let revision = number.parse().map(Self::Revision);
                revision.map_err(|_| "is `draft`, `drafts`, `published` or a revision, as in 3")
            }
        }
    }
}

/// What was rendered.
#[derive(Debug)]
pub struct Preview {
    pub parts: Parts,
    pub locale: String,
    /// Variables that the data does not have: required ones are shown with a value that stands for them, others blank.
    pub missing: Vec<String>,
    /// What the data has and nothing reads.
    pub unused: Vec<String>,
    pub warnings: Vec<Finding>,
    /// Bytes of the whole message.
    pub message_bytes: usize,
    /// The text part is made of the HTML part.
    pub derived_text: bool,
    /// Of a template in MJML, in the locale that was chosen.
    pub mjml: Option<PreviewMjml>,
}

/// MJML, and what it was compiled to.
#[derive(Debug)]
pub struct PreviewMjml {
    pub source: String,
    /// With Liquid, as it is rendered.
    pub html: String,
    pub compiler: Compiler,
}

/// A source with what it is made of.
#[derive(Debug)]
pub struct Chosen {
    pub row: TemplateRow,
    /// What is rendered: HTML stands in place of MJML.
    pub source: TemplateSource,
    pub blocks: Blocks,
    /// As its author wrote it.
    pub written: TemplateSource,
    pub compiled: Option<Compiled>,
    /// What the compiler of MJML has warned of.
    pub warnings: Vec<Finding>,
}

impl Authoring {
    /// Renders with data that need not be complete.
    pub async fn preview(
        &self,
        place: &Place,
        options: PreviewOptions,
    ) -> Result<Preview, AuthoringError> {
        let Chosen { row, source, blocks, written, compiled, mut warnings } = match options.draft {
            Some(draft) => self.unsaved(place, draft, options.of).await?,
            None => self.chosen(place, options.of).await?,
        };
        let data = data(&source, options.data, options.example.as_deref())?;
        let tenant = self.tenant(row.owner).await?;
        let checker = Checker::new(&self.plugins);
        let it = Checkable { slug: &row.slug, source: &source, blocks: &blocks };
        let read = checker.compile(&tenant, it, &mut warnings).await?;
        mjml::relocate(&mut warnings, (&written, &blocks), compiled.as_ref());
        if warnings.iter().any(Finding::is_error) {
            return Err(AuthoringError::Unfit { slug: row.slug, findings: warnings });
        }
        let variables = agreed(&source, read).variables;
        let DataCheck { faults, unread } =
            Contract::of(&variables).check(ObjectText::from(&data).members());
        for wrong in faults {
            let message = format!("{} {}", wrong.path, wrong.wanted);
            warnings
                .push(Finding::warning("data", wrong.wanted.code(), message).about(&wrong.path));
        }
        let chosen = source.choose_locale(options.locale.as_ref());
        let spoken = (chosen.tag, chosen.region(options.locale.as_ref()));
        lint::lint((&written, &blocks), [chosen], &mut warnings);
        let (rendered, mut missing) = match checker.render_for(&tenant, it, spoken, &data).await? {
            Ok(rendered) => (rendered, Vec::new()),
            Err(NotRendered::Missing(paths)) => {
                let filled = with_stand_ins(&variables, data);
                match checker.render_for(&tenant, it, spoken, &filled).await? {
                    Ok(rendered) => (rendered, paths),
                    Err(NotRendered::Missing(paths)) => return Err(lacking(row, paths)),
                    Err(NotRendered::Findings(findings)) => {
                        return Err(AuthoringError::Unfit { slug: row.slug, findings });
                    }
                }
            }
            Err(NotRendered::Findings(findings)) => {
                return Err(AuthoringError::Unfit { slug: row.slug, findings });
            }
        };
        let RenderedParts { parts, blank } = rendered;
        missing.extend(blank);
        let message_bytes = composed(&parts, &source);
        Ok(Preview {
            locale: chosen.tag.to_string(),
            missing,
            unused: unread,
            warnings,
            message_bytes,
            derived_text: source.part(SourcePart::Text, chosen.tag).is_none(),
            mjml: compiled.and_then(|it| preview_mjml(it, &written, &source, chosen.tag)),
            parts,
        })
    }

    /// A source with the layouts and partials that it would be, or was, published with.
    pub async fn chosen(&self, place: &Place, of: PreviewOf) -> Result<Chosen, AuthoringError> {
        let row = self.find(place).await?;
        let slug = || place.slug.clone();
        let version = match of {
            PreviewOf::Draft | PreviewOf::Drafts => None,
            PreviewOf::Published => {
                let version = row.published.clone();
                Some(version.ok_or_else(|| AuthoringError::Unpublished { slug: slug() })?)
            }
            PreviewOf::Revision(revision) => {
                let version = self.store.template_version(row.id, revision).await?;
                Some(version.ok_or_else(|| AuthoringError::NoVersion { slug: slug(), revision })?)
            }
        };
        if let Some(version) = version {
            let source = version.rendered_source();
            let warnings = version.compiled.as_ref().map(mjml::warnings).unwrap_or_default();
            let VersionRow { source: written, blocks, compiled, .. } = version;
            return Ok(Chosen { row, source, blocks, written, compiled, warnings });
        }
        let written = newest(&row).clone();
        self.built(row, written, of).await
    }

    /// A draft that its author has not saved, with what it would be published with.
    async fn unsaved(
        &self,
        place: &Place,
        draft: TemplateSource,
        of: PreviewOf,
    ) -> Result<Chosen, AuthoringError> {
        if matches!(of, PreviewOf::Published | PreviewOf::Revision(_)) {
            let message = "is `draft` or `drafts` where a draft is given";
            return Err(AuthoringError::fault("of", "invalid", message.to_owned()));
        }
        self.built(self.find(place).await?, draft, of).await
    }

    async fn built(
        &self,
        row: TemplateRow,
        written: TemplateSource,
        of: PreviewOf,
    ) -> Result<Chosen, AuthoringError> {
        let mut blocks = Resolver::new(&self.store, &[]);
        if of == PreviewOf::Drafts {
            blocks = blocks.with_drafts();
        }
        let resolved = blocks.resolve(row.owner, &written).await?;
        let Resolved { blocks, uses: _, mut findings } = resolved;
        let tenant = self.tenant(row.owner).await?;
        let checker = Checker::new(&self.plugins);
        let it = Checkable { slug: &row.slug, source: &written, blocks: &blocks };
        let compiled = checker.compile_mjml(&tenant, it, &mut findings).await?;
        if findings.iter().any(Finding::is_error) {
            return Err(AuthoringError::Unfit { slug: row.slug, findings });
        }
        let source = rendered_source(written.clone(), compiled.as_ref());
        Ok(Chosen { row, source, blocks, written, compiled, warnings: findings })
    }
}

/// The data that was given, or that of an example.
pub fn data(
    source: &TemplateSource,
    data: Option<Map<String, Value>>,
    example: Option<&str>,
) -> Result<Map<String, Value>, AuthoringError> {
    if let Some(data) = data {
        return Ok(data);
    }
    let Some(name) = example else { return Ok(source.example().cloned().unwrap_or_default()) };
    source.examples.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = source.examples.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        AuthoringError::NoExample { name: name.to_owned(), known }
    })
}

fn preview_mjml(
    compiled: Compiled,
    written: &TemplateSource,
    rendered: &TemplateSource,
    locale: &LocaleTag,
) -> Option<PreviewMjml> {
    let Some(Markup::Mjml(source)) = written.markup(locale) else { return None };
    let html = rendered.part(SourcePart::Html, locale)?.clone();
    Some(PreviewMjml { source: source.to_owned(), html, compiler: compiled.compiler })
}

fn lacking(row: TemplateRow, paths: Vec<String>) -> AuthoringError {
    let finding = |path: String| {
        let message = format!("`{path}` is missing from the data");
        Finding::error("data", "missing_variable", message).about(&path)
    };
    AuthoringError::Unfit { slug: row.slug, findings: paths.into_iter().map(finding).collect() }
}

/// The data, and a value for each required variable that it leaves out.
fn with_stand_ins(variables: &[Variable], data: Map<String, Value>) -> Map<String, Value> {
    let examples = [("default".to_owned(), data)].into();
    trial_data(&TemplateSource { examples, ..TemplateSource::default() }, variables)
}

fn composed(parts: &Parts, source: &TemplateSource) -> usize {
    let Ok(nobody) = "nobody@example.com".parse::<EmailAddress>() else { return 0 };
    let raw = mime::compose(&Outgoing {
        message_id: "preview@example.com",
        date: crate::clock::Timestamp::from_millis(0),
        from_name: None,
        from: source.sender.as_ref().unwrap_or(&nobody),
        to: &nobody,
        reply_to: None,
        subject: &parts.subject,
        text: parts.text.as_deref(),
        html: parts.html.as_deref(),
        attachments: &[],
        headers: &[],
    });
    raw.len()
}
