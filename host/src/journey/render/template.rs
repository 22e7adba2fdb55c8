//! A published template and the sender's data, through the renderer plugin.

use std::collections::BTreeMap;

use super::super::accept::json::object::ObjectText;
use super::super::accept::refusal::{Fault, Refusal};
use super::super::accept::variables::Variables;
use super::super::policy::plan::failed_closed;
use super::visible;
use crate::plugin::binding::Scope;
use crate::plugin::decision::Decision;
use crate::plugin::renderer::{Blame, Body, Part, Source, Template, VersionKey};
use crate::plugin::table::{Called, Table, Unrendered};
use crate::plugin::{CallContext, CallFailure, Diagnostic, Kind, Pair};
use crate::template::contract::DataCheck;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::source::{ChosenLocale, SourcePart, TemplateSource};
use crate::template::version::{Block, Blocks, TemplateVersion};

/// The rendered parts of a message.
#[derive(Debug, Default)]
pub struct Parts {
    /// On one line.
    pub subject: String,
    pub preheader: Option<String>,
    pub html: Option<String>,
    pub text: Option<String>,
}

/// What becomes of a message in which variables would be blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blanks {
    /// The message is sent, and the answer names them.
    Told,
    Refused,
}

/// What came of a render for a send.
pub(in crate::journey) struct Rendering {
    pub parts: Result<Parts, Refusal>,
    pub decision: Decision,
    /// Members of the data that nothing reads.
    pub unread: Vec<String>,
}

/// Renders a version with the sender's data and the account's brand.
pub(in crate::journey) async fn render(
    plugins: &Table,
    scope: &Scope<'_>,
    context: &CallContext,
    version: &TemplateVersion,
    locale: ChosenLocale<'_>,
    variables: Variables<'_>,
    blanks: Blanks,
) -> Rendering {
    let key = VersionKey {
        template: version.template_id,
        revision: version.revision,
        locale: locale.number,
    };
    let template = || version_for_plugin(version, locale.tag);
    let merged = variables.merged();
    let data = merged.as_ref().unwrap_or(variables.data().text());
    let example = || {
        let example = version.source.example().map(ObjectText::from).unwrap_or_default();
        variables.with(&example).to_json()
    };
    let Called { result, decision, failed: _ } =
        plugins.render(scope, key, template, example, context, data).await;
    let DataCheck { faults, unread } = version.contract.check(variables.data().members());
    let mut faults: Vec<Fault> = faults.iter().map(Fault::undeclared_value).collect();
    let parts = match result {
        Ok(Ok(output)) => {
            if blanks == Blanks::Refused {
                faults.extend(decision.blank.iter().map(|path| Fault::blank_variable(path)));
            }
            if faults.is_empty() {
                parts(output.bodies, &decision.blank)
            } else {
                Err(Refusal::bad_request(faults))
            }
        }
        Ok(Err(Unrendered::Data(diagnostics))) => {
            let found = diagnostics.into_iter().map(bad_data);
            // A fault that both have found is named once, in the words of the declared type; one without a place may
            // be what another one has led to.
            let is_new = |it: &Fault| {
                faults.iter().all(|fault| fault.field != it.field && it.field != "data")
            };
            let found: Vec<Fault> = found.filter(is_new).collect();
            faults.extend(found);
            Err(Refusal::bad_request(faults))
        }
        Ok(Err(Unrendered::Template(faults))) => {
            let slug = &version.slug;
            let first = faults.first().map_or_else(|| "no reason given".to_owned(), in_words);
            tracing::error!(template = %slug, reason = %first, "a published template cannot be rendered");
            let message = format!("the published template {slug} cannot be rendered: {first}");
            Err(Refusal::Internal { message })
        }
        Ok(Err(Unrendered::TooMuchWork(blame, failure))) => {
            Err(too_much_work(&version.slug, blame, &failure))
        }
        Err(CallFailure::InputQuarantined { .. }) => Err(Refusal::Internal {
            message: format!(
                "the published template {} is in quarantine, because the renderer broke on it \
                 twice; publish a fixed version",
                version.slug
            ),
        }),
        Err(failure) => Err(failed_closed(Kind::Renderer, &failure)),
    };
    Rendering { parts, decision, unread }
}

/// The name of the partial that holds the messages of a locale, as JSON. No slug has a dot.
const MESSAGES: &str = "messages.json";

/// A version in one of its locales as the renderer's interface has it.
#[must_use]
pub fn version_for_plugin(version: &TemplateVersion, locale: &LocaleTag) -> Template {
    for_plugin(&version.slug, version.revision, (&version.source, &version.blocks), locale)
}

/// A template in one of its locales as the renderer's interface has it.
#[must_use]
pub fn for_plugin(
    slug: &Slug,
    revision: u64,
    (source, blocks): (&TemplateSource, &Blocks),
    locale: &LocaleTag,
) -> Template {
    let parts = [
        (Part::Subject, SourcePart::Subject),
        (Part::Preheader, SourcePart::Preheader),
        (Part::Html, SourcePart::Html),
        (Part::Text, SourcePart::Text),
    ];
    let source_of = |(part, of): (Part, SourcePart)| {
        source.part(of, locale).map(|text| Source { part, text: text.clone() })
    };
    let html = |block: &Block| block.source.part(SourcePart::Html, locale).cloned();
    let mut partials: Vec<Pair> = blocks
        .partials
        .iter()
        // One in MJML stands in the HTML already.
        .filter(|it| !it.source.has_mjml())
        .map(|it| Pair { key: it.name.to_string(), value: html(it).unwrap_or_default() })
        .collect();
    // The template's own messages win over those of what it is made of.
    let mut messages = BTreeMap::new();
    source.add_messages(locale, &mut messages);
    for block in blocks.iter() {
        block.source.add_messages(locale, &mut messages);
    }
    if !messages.is_empty() {
        let text = serde_json::to_string(&messages).unwrap_or_default();
        partials.push(Pair { key: MESSAGES.to_owned(), value: text });
    }
    Template {
        slug: slug.to_string(),
        revision,
        sources: parts.into_iter().filter_map(source_of).collect(),
        partials,
        layout: blocks.layout.as_ref().and_then(html),
    }
}

/// Rendering came to a limit: whoever is to blame, to try again would not help.
fn too_much_work(slug: &Slug, blame: Blame, failure: &CallFailure) -> Refusal {
    let limit = failure.limit().unwrap_or_default();
    match blame {
        Blame::Data => {
            tracing::info!(template = %slug, %limit, "a send was refused, because rendering its data exceeds a limit of the plugin");
            let message = format!(
                "the template {slug} needs more than the server allows to render this data ({limit}); \
                 send less data"
            );
            Refusal::fault("data", "too_much_work", message)
        }
        Blame::Template => {
            tracing::error!(template = %slug, %limit, "rendering a published template exceeds a renderer limit even with the template's example data; publish a smaller version or raise the limit");
            let message = format!(
                "the published template {slug} cannot be rendered: it needs more than the server \
                 allows, whatever the data ({limit}); publish a fixed version"
            );
            Refusal::Internal { message }
        }
    }
}

fn bad_data(it: Diagnostic) -> Fault {
    match (it.code.as_str(), it.path.as_deref().filter(|path| !path.is_empty())) {
        ("missing_variable", Some(path)) => Fault::missing_variable(path),
        ("wrong_type", Some(path)) => Fault::new(&format!("data.{path}"), "type", it.message),
        (code, Some(path)) => Fault::new(&format!("data.{path}"), code, in_words(&it)),
        (code, None) => Fault::new("data", code, in_words(&it)),
    }
}

/// A fault of the template with the part that it stands in: `html, line 3: …`.
fn in_words(it: &Diagnostic) -> String {
    match (&it.part, it.line) {
        (Some(part), 0) => format!("{part}: {}", it.message),
        (Some(part), line) => format!("{part}, line {line}: {}", it.message),
        (None, _) => it.message.clone(),
    }
}

/// The host's minimum rules: a subject, on one line, and at least one part with something to see.
///
/// # Errors
/// The message would be empty; `blank` are the variables that its template missed.
pub fn parts(bodies: Vec<Body>, blank: &[String]) -> Result<Parts, Refusal> {
    let mut parts = Parts::default();
    for body in bodies {
        match body.part {
            Part::Subject => parts.subject = one_line(&body.text),
            Part::Html => parts.html = Some(body.text),
            Part::Text => parts.text = Some(body.text),
            Part::Preheader => parts.preheader = Some(one_line(&body.text)),
        }
    }
    if parts.html.is_none() && parts.text.is_none() {
        let message = "the template renderer gave neither HTML nor text".to_owned();
        return Err(Refusal::Internal { message });
    }
    let missing = match blank {
        [] => String::new(),
        blank => format!("; missing: {}", blank.join(", ")),
    };
    let mut faults = Vec::new();
    if !visible::in_text(&parts.subject) {
        let message = format!("with this data the subject is empty{missing}");
        faults.push(Fault::new("data", "empty_subject", message));
    }
    let is_seen = parts.text.as_deref().is_some_and(visible::in_text)
        || parts.html.as_deref().is_some_and(visible::in_html);
    if !is_seen {
        let message = format!("with this data the message has nothing to see{missing}");
        faults.push(Fault::new("data", "empty_message", message));
    }
    if faults.is_empty() { Ok(parts) } else { Err(Refusal::bad_request(faults)) }
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_stays_on_one_line_whatever_the_plugin_says() {
        assert_eq!(one_line(" Hi\r\nBcc: eve@example.com\t\u{0}x "), "Hi Bcc: eve@example.com x");
    }
}
