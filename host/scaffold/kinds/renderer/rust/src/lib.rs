//! A template language: `{{ name }}` and `{{ user.name }}` stand for values of the data, escaped in
//! HTML.

mod html;
mod parse;
mod render;

use schemars::JsonSchema;
use serde::Deserialize;
use waxwing_plugin::renderer::{Output, Part, Renderer, Source, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult, self_check};

use parse::Piece;

/// The settings. The server validates them with the schema of this type before `configure`.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// What a value that is not in the data does: refuse the send, or print nothing.
    missing: Missing,
}

/// What a missing value does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Missing {
    #[default]
    Refuse,
    Empty,
}

/// The language under its settings.
pub struct Language {
    settings: Settings,
}

/// A template that is parsed and checked, ready to render many times.
pub struct Compiled {
    units: Vec<Unit>,
    missing: Missing,
}

struct Unit {
    part: Part,
    pieces: Vec<Piece>,
    /// Made of the HTML, because the template has no text of its own.
    derived: bool,
}

impl Plugin for Language {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { settings })
    }

    /// Checks that run before this version renders anything; every one must pass.
    fn self_test(&self, ctx: &CallContext) -> Vec<SelfTestResult> {
        let template = Template {
            slug: "self-test".to_owned(),
            revision: 1,
            sources: vec![Source {
                part: Part::Html,
                text: "<p>{{ name }}</p>".to_owned(),
            }],
            partials: Vec::new(),
            layout: None,
        };
        let outcome = self
            .compile(&template)
            .map_err(|it| format!("{it:?}"))
            .and_then(|it| {
                Self::render(&it, ctx, r#"{"name":"<Ada>"}"#).map_err(|it| format!("{it:?}"))
            })
            .and_then(|it| {
                let texts: Vec<_> = it.bodies.iter().map(|it| it.text.as_str()).collect();
                let right = texts == ["<p>&lt;Ada&gt;</p>", "<Ada>\n"];
                if right {
                    Ok(())
                } else {
                    Err(format!("{texts:?}"))
                }
            });
        vec![self_check("renders and escapes", outcome)]
    }
}

impl Renderer for Language {
    type Compiled = Compiled;

    fn compile(&self, template: &Template) -> Result<Compiled, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let layout = template.layout.as_deref();
        let mut units = Vec::new();
        for source in &template.sources {
            let mut pieces = parse::parse(&source.text, name(source.part), &mut faults);
            if let (Part::Html, Some(layout)) = (source.part, layout) {
                pieces = parse::wrap(&pieces, parse::parse(layout, "layout", &mut faults));
            }
            units.push(Unit {
                part: source.part,
                pieces,
                derived: false,
            });
        }
        let html = template.sources.iter().find(|it| it.part == Part::Html);
        if let (Some(html), true) = (html, units.iter().all(|it| it.part != Part::Text)) {
            // What fails here has failed in the HTML already.
            let quiet = |source, part| parse::parse(&html::text(source), part, &mut Vec::new());
            let content = quiet(&html.text, "html");
            let pieces = match layout {
                Some(layout) => parse::wrap(&content, quiet(layout, "layout")),
                None => content,
            };
            units.push(Unit {
                part: Part::Text,
                pieces,
                derived: true,
            });
        }
        let missing = self.settings.missing;
        if faults.is_empty() {
            Ok(Compiled { units, missing })
        } else {
            Err(faults)
        }
    }

    /// The names that the template reads, each once.
    fn variables(compiled: &Compiled) -> Vec<Variable> {
        let required = compiled.missing == Missing::Refuse;
        let variable = |path: &str| Variable {
            path: path.to_owned(),
            required,
        };
        compiled.paths().into_iter().map(variable).collect()
    }

    fn render(compiled: &Compiled, _: &CallContext, data: &str) -> Result<Output, Failure> {
        render::render(compiled, data)
    }

    /// Estimated bytes held.
    fn weight(compiled: &Compiled) -> u32 {
        let pieces = compiled.units.iter().flat_map(|it| &it.pieces);
        let bytes: usize = pieces.map(|it| 64 + it.source().len()).sum();
        u32::try_from(500 + bytes).unwrap_or(u32::MAX)
    }
}

impl Compiled {
    /// In order of first use.
    fn paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        for piece in self.units.iter().flat_map(|it| &it.pieces) {
            if let Piece::Path(path) = piece
                && !paths.contains(&path.as_str())
            {
                paths.push(path.as_str());
            }
        }
        paths
    }
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Subject => "subject",
        Part::Preheader => "preheader",
        Part::Html => "html",
        Part::Text => "text",
    }
}

waxwing_plugin::export_renderer!(Language);

#[cfg(test)]
mod tests;
