//! What differs between two sources, line by line.

use serde_json::{Value, json};
use similar::TextDiff;

use super::error::AuthoringError;
use super::preview::PreviewOf;
use super::{Authoring, Place, newest};
use crate::template::source::TemplateSource;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// A part that differs.
#[derive(Debug, PartialEq, Eq)]
pub struct PartDiff {
    /// As in `html` or `locales.de.subject`.
    pub part: String,
    /// In unified form.
    pub unified: String,
}

impl Authoring {
    /// What differs between two sources of one template.
    pub async fn diff(
        &self,
        place: &Place,
        from: PreviewOf,
        to: PreviewOf,
    ) -> Result<Vec<PartDiff>, AuthoringError> {
        let from = self.source_of(place, from).await?;
        let to = self.source_of(place, to).await?;
        Ok(between(&from, &to))
    }

    async fn source_of(
        &self,
        place: &Place,
        of: PreviewOf,
    ) -> Result<TemplateSource, AuthoringError> {
        let row = self.find(place).await?;
        let slug = || place.slug.clone();
        match of {
            PreviewOf::Draft | PreviewOf::Drafts => Ok(newest(&row).clone()),
            PreviewOf::Published => {
                let version = row.published;
                Ok(version.ok_or_else(|| AuthoringError::Unpublished { slug: slug() })?.source)
            }
            PreviewOf::Revision(revision) => {
                let version = self.store.template_version(row.id, revision).await?;
                let none = || AuthoringError::NoVersion { slug: slug(), revision };
                Ok(version.ok_or_else(none)?.source)
            }
        }
    }
}

/// The parts that differ, in the order of the members.
#[must_use]
pub fn between(from: &TemplateSource, to: &TemplateSource) -> Vec<PartDiff> {
    let (from, to) = (texts(&json!(from)), texts(&json!(to)));
    let mut names: Vec<&String> = from.iter().chain(&to).map(|(name, _)| name).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let text = |all: &[(String, String)], name: &str| {
        let found = all.iter().find(|(it, _)| it == name);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let diff = |name: &String| {
        let (before, after) = (text(&from, name), text(&to, name));
        if before == after {
            return None;
        }
        let unified = TextDiff::from_lines(&before, &after)
            .unified_diff()
            .context_radius(CONTEXT)
            .to_string();
        Some(PartDiff { part: name.clone(), unified })
    };
    names.into_iter().filter_map(diff).collect()
}

/// Each member as a text of its own: those of locales by their names, what is no text as JSON.
fn texts(source: &Value) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let add = |texts: &mut Vec<_>, name: String, value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        };
        texts.push((name, text));
    };
    for (name, value) in source.as_object().into_iter().flatten() {
        if name != "locales" {
            add(&mut texts, name.clone(), value);
            continue;
        }
        for (tag, locale) in value.as_object().into_iter().flatten() {
            for (part, value) in locale.as_object().into_iter().flatten() {
                add(&mut texts, format!("locales.{tag}.{part}"), value);
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_differ_are_shown_line_by_line() {
        let source =
            |value: Value| serde_json::from_value::<TemplateSource>(value).expect("a source");
        let from = source(json!({"subject": "Hi", "html": "<p>\none\n</p>\n"}));
        let to = source(json!({
            "subject": "Hi", "html": "<p>\ntwo\n</p>\n", "strict": true,
            "locales": {"de": {"subject": "Hallo"}},
        }));
        let diffs = between(&from, &to);
        let parts: Vec<&str> = diffs.iter().map(|it| it.part.as_str()).collect();
        assert_eq!(parts, ["html", "strict", "locales.de.subject"]);
        assert!(diffs[0].unified.contains("-one\n+two\n"), "{}", diffs[0].unified);
        assert!(between(&to, &to).is_empty());
    }
}
