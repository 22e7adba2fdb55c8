//! Calls of renderers.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Input, Pairs};
use crate::Failure;
use crate::renderer::{Body, Part, Renderer, Source, Template};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Call {
    template: TemplateJson,
    data: Option<Value>,
    /// The text itself, for what is no JSON.
    data_json: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct TemplateJson {
    slug: String,
    revision: u64,
    subject: Option<String>,
    preheader: Option<String>,
    html: Option<String>,
    text: Option<String>,
    layout: Option<String>,
    partials: Pairs,
}

/// The answer of a renderer to `template` and `data`: the parts, or a failure. Faults of the template
/// are `misconfigured`, as the server has them.
///
/// # Errors
/// The input is no such call.
pub fn renderer<P: Renderer>(input: &str) -> Result<String, String> {
    let input = Input::<Call>::parse(input)?;
    Ok(input.answer::<P>(|renderer, ctx, call| {
        let compiled = renderer.compile(&call.template.into()).map_err(Failure::Misconfigured)?;
        let data = call
            .data_json
            .unwrap_or_else(|| call.data.map_or_else(|| "{}".to_owned(), |it| it.to_string()));
        let output = P::render(&compiled, ctx, &data)?;
        let text = |part: Part| {
            // Of two bodies of a part the last one is sent.
            let body = output.bodies.iter().rev().find(|it: &&Body| it.part == part);
            body.map(|it| it.text.as_str())
        };
        Ok(json!({
            "subject": text(Part::Subject), "preheader": text(Part::Preheader),
            "html": text(Part::Html), "text": text(Part::Text), "missing": output.missing,
        }))
    }))
}

impl From<TemplateJson> for Template {
    fn from(it: TemplateJson) -> Self {
        let parts = [
            (Part::Subject, it.subject),
            (Part::Preheader, it.preheader),
            (Part::Html, it.html),
            (Part::Text, it.text),
        ];
        let source = |(part, text): (Part, Option<String>)| text.map(|text| Source { part, text });
        Self {
            slug: it.slug,
            revision: it.revision,
            sources: parts.into_iter().filter_map(source).collect(),
            partials: it.partials.0,
            layout: it.layout,
        }
    }
}
