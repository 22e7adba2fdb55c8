//! What the MJML of a version was compiled to. It is stored with the version: a compiler that is replaced later changes
//! nothing that is published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::locale::LocaleTag;
use super::source::TemplateSource;

/// The HTML of a version's MJML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CompiledMjml)]
pub struct Compiled {
    pub compiler: Compiler,
    /// By locale, those whose MJML and includes are the same as the template's own left out.
    #[schema(value_type = BTreeMap<String, CompiledHtml>)]
    pub locales: BTreeMap<LocaleTag, CompiledHtml>,
    pub warnings: Vec<CompilerWarning>,
}

/// The HTML of one locale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompiledHtml {
    pub html: String,
    /// The text of `mj-preview`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
}

/// The component that has compiled it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MjmlCompiler)]
pub struct Compiler {
    pub name: String,
    pub version: String,
    /// SHA-256 of the component, as `sha256:<hex>`.
    pub digest: String,
}

/// What the compiler has warned of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MjmlCompilerWarning)]
pub struct CompilerWarning {
    pub code: String,
    pub message: String,
    /// `mjml`, or `partial:footer`.
    pub part: String,
    /// The locale whose MJML it is about; none for the template's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    pub line: u32,
    pub column: u32,
}

impl Compiled {
    /// Whether senders see no difference: the same HTML, by whatever compiler.
    #[must_use]
    pub fn is_same_html(&self, other: &Self) -> bool {
        self.locales == other.locales
    }

    /// The source with HTML in place of MJML: what is rendered.
    #[must_use]
    pub fn put_into(&self, source: &TemplateSource) -> TemplateSource {
        let mut source = source.clone();
        source.mjml = None;
        for locale in source.locales.values_mut() {
            locale.mjml = None;
        }
        let own = source.default_locale().clone();
        for (tag, compiled) in &self.locales {
            let CompiledHtml { html, preheader } = compiled.clone();
            if *tag == own {
                source.html = Some(html);
                source.preheader = source.preheader.take().or(preheader);
            } else if let Some(locale) = source.locales.get_mut(tag) {
                locale.html = Some(html);
                locale.preheader = locale.preheader.take().or(preheader);
            }
        }
        source
    }
}

/// The source that is rendered: with the HTML that was compiled of its MJML, where there is any.
#[must_use]
pub fn rendered_source(source: TemplateSource, compiled: Option<&Compiled>) -> TemplateSource {
    match compiled {
        Some(compiled) => compiled.put_into(&source),
        None => source,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_html_stands_where_the_mjml_was() {
        let source: TemplateSource = serde_json::from_value(json!({
            "mjml": "<mjml/>", "preheader": "mine",
            "locales": {"de": {"mjml": "<mjml de/>"}, "fr": {"html": "<p>"}, "fr-CA": {"mjml": "x"}},
        }))
        .expect("a source");
        let html = |text: &str| CompiledHtml {
            html: text.to_owned(),
            preheader: Some(format!("preheader of {text}")),
        };
        let tag = |text: &str| text.parse::<LocaleTag>().expect("a tag");
        let compiled = Compiled {
            compiler: Compiler {
                name: "c".to_owned(),
                version: "1".to_owned(),
                digest: "sha256:0".to_owned(),
            },
            locales: [
                (tag("en"), html("own")),
                (tag("de"), html("de")),
                (tag("fr-CA"), html("ca")),
            ]
            .into(),
            warnings: Vec::new(),
        };
        let rendered = compiled.put_into(&source);
        assert_eq!(
            json!(rendered)["locales"],
            json!({
                "de": {"html": "de", "preheader": "preheader of de"}, "fr": {"html": "<p>"},
                "fr-CA": {"html": "ca", "preheader": "preheader of ca"},
            })
        );
        assert_eq!((rendered.html.as_deref(), rendered.mjml.as_deref()), (Some("own"), None));
        assert_eq!(rendered.preheader.as_deref(), Some("mine"));
        let stored: Compiled = serde_json::from_value(json!(compiled)).expect("it is stored");
        assert_eq!(stored, compiled);
    }
}
