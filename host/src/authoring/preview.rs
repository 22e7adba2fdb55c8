//! What a recipient would see: of the draft, of what is published, or of an earlier version.

use serde_json::{Map, Value};

use super::check::{Checkable, Checker, NotRendered, RenderedParts};
use super::error::AuthoringError;
use super::finding::Finding;
use super::resolve::Resolver;
use super::{Authoring, Place, newest};
use crate::journey::render::template::Parts;
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::store::TemplateRow;
use crate::template::locale::LocaleTag;
use crate::template::source::{SourcePart, TemplateSource};
use crate::template::version::{Blocks, TemplateVersion, Variable, wrong_types};

/// What to show.
#[derive(Debug, Default)]
pub struct PreviewOptions {
    pub of: PreviewOf,
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
    Published,
    Revision(u64),
}

impl PreviewOf {
    /// `draft`, `published` or a revision.
    ///
    /// # Errors
    /// It is none of them.
    pub fn from_word(text: &str) -> Result<Self, &'static str> {
        match text {
            "draft" => Ok(Self::Draft),
            "published" => Ok(Self::Published),
            number => {
                let revision = number.parse().map(Self::Revision);
                revision.map_err(|_| "is `draft`, `published` or a revision, as in 3")
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
}

/// A source with what it is made of.
#[derive(Debug)]
pub struct Chosen {
    pub row: TemplateRow,
    pub source: TemplateSource,
    pub blocks: Blocks,
}

impl Authoring {
    /// Renders with data that need not be complete.
    ///
    /// # Errors
    /// It cannot be rendered.
    pub async fn preview(
        &self,
        place: &Place,
        options: PreviewOptions,
    ) -> Result<Preview, AuthoringError> {
        let Chosen { row, source, blocks } = self.chosen(place, options.of).await?;
        let data = data(&source, options.data, options.example.as_deref())?;
        let tenant = self.tenant(row.owner).await?;
        let checker = Checker::new(&self.plugins);
        let it = Checkable { slug: &row.slug, source: &source, blocks: &blocks };
        let mut warnings = Vec::new();
        let mut variables = checker.compile(&tenant, it, &mut warnings).await?;
        if warnings.iter().any(Finding::is_error) {
            return Err(AuthoringError::Unfit { slug: row.slug, findings: warnings });
        }
        for variable in &mut variables {
            let declared = source.variables.iter().find(|it| it.path == variable.path);
            variable.value_type = declared.and_then(|it| it.value_type);
        }
        for wrong in wrong_types(&variables, &data) {
            let message = format!("{} must be of the type {}", wrong.path, wrong.wanted.as_str());
            warnings.push(Finding::warning("data", "type", message).about(&wrong.path));
        }
        let chosen = source.choose_locale(options.locale.as_ref());
        let (rendered, mut missing) = match checker.render(&tenant, it, chosen.tag, &data).await? {
            Ok(rendered) => (rendered, Vec::new()),
            Err(NotRendered::Missing(paths)) => {
                let filled = with_stand_ins(&source, &blocks, &variables, &row, &data);
                match checker.render(&tenant, it, chosen.tag, &filled).await? {
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
            unused: unused(&data, &variables),
            warnings,
            message_bytes,
            derived_text: source.part(SourcePart::Text, chosen.tag).is_none(),
            parts,
        })
    }

    /// A source with the layouts and partials that it would be, or was, published with.
    ///
    /// # Errors
    /// There is none.
    pub async fn chosen(&self, place: &Place, of: PreviewOf) -> Result<Chosen, AuthoringError> {
        let row = self.find(place).await?;
        let slug = || place.slug.clone();
        let version = match of {
            PreviewOf::Draft => None,
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
            return Ok(Chosen { row, source: version.source, blocks: version.blocks });
        }
        let source = newest(&row).clone();
        let resolved = Resolver::new(&self.store, &[]).resolve(row.owner, &source).await?;
        if resolved.findings.iter().any(Finding::is_error) {
            let findings = resolved.findings;
            return Err(AuthoringError::Unfit { slug: slug(), findings });
        }
        Ok(Chosen { row, source, blocks: resolved.blocks })
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

fn lacking(row: TemplateRow, paths: Vec<String>) -> AuthoringError {
    let finding = |path: String| {
        let message = format!("`{path}` is missing from the data");
        Finding::error("data", "missing_variable", message).about(&path)
    };
    AuthoringError::Unfit { slug: row.slug, findings: paths.into_iter().map(finding).collect() }
}

/// The data, and a value for each required variable that it leaves out.
fn with_stand_ins(
    source: &TemplateSource,
    blocks: &Blocks,
    variables: &[Variable],
    row: &TemplateRow,
    data: &Map<String, Value>,
) -> Map<String, Value> {
    let mut source = source.clone();
    source.examples = [("default".to_owned(), data.clone())].into();
    let version = TemplateVersion {
        template_id: row.id,
        slug: row.slug.clone(),
        revision: 0,
        source,
        blocks: blocks.clone(),
        variables: variables.to_vec(),
        dictionary: None,
        archived_at: None,
    };
    version.trial_data()
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

/// Members of the data that no variable leads to, through or from.
fn unused(data: &Map<String, Value>, variables: &[Variable]) -> Vec<String> {
    let mut unused = Vec::new();
    look(data, "", variables, &mut unused);
    unused
}

fn look(
    object: &Map<String, Value>,
    within: &str,
    variables: &[Variable],
    unused: &mut Vec<String>,
) {
    const MOST: usize = 100;
    for (name, value) in object {
        if unused.len() >= MOST {
            return;
        }
        let path = format!("{within}{name}");
        let below = |it: &&Variable| {
            it.path.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        if variables.iter().any(|it| it.path == path) {
            continue;
        }
        match (variables.iter().find(below), value) {
            (None, _) => unused.push(path),
            (Some(_), Value::Object(inner)) => {
                look(inner, &format!("{path}."), variables, unused);
            }
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nothing_reads_is_named() {
        let variable =
            |path: &str| Variable { path: path.to_owned(), required: false, value_type: None };
        let variables = ["user.name", "items[].price", "whole"].map(variable);
        let data = json!({
            "user": {"name": "Ada", "age": 1}, "items": [{"price": 1, "other": 2}],
            "whole": {"any": 1}, "unread": 1,
        });
        let unused = unused(data.as_object().expect("an object"), &variables);
        assert_eq!(unused, ["user.age", "unread"]);
    }
}
