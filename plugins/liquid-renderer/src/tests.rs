//! Tests of the whole renderer through the SDK's trait.

mod data;
mod hostile;
mod output;
mod source;
mod speed;
mod variables;

use waxwing_plugin::renderer::{Output, Part, Renderer, Source, Template};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Pair, Plugin};

use crate::{Compiled, LiquidRenderer, Settings};

/// 2024-03-05T06:07:08Z.
const NOW: u64 = 1_709_618_828_000;

fn template(parts: &[(Part, &str)]) -> Template {
    let source = |(part, text): &(Part, &str)| Source { part: *part, text: (*text).to_owned() };
    Template {
        slug: "t".to_owned(),
        revision: 1,
        sources: parts.iter().map(source).collect(),
        partials: Vec::new(),
        layout: None,
    }
}

fn with_partials(mut it: Template, partials: &[(&str, &str)]) -> Template {
    let pair =
        |(key, value): &(&str, &str)| Pair { key: (*key).to_owned(), value: (*value).to_owned() };
    it.partials = partials.iter().map(pair).collect();
    it
}

fn compile(it: &Template) -> Result<Compiled, Vec<Diagnostic>> {
    LiquidRenderer::configure(Settings::default()).expect("settings").compile(it)
}

fn ctx() -> CallContext {
    CallContext {
        call_id: String::new(),
        now_unix_ms: NOW,
        locale: None,
        dry_run: true,
        extra: Vec::new(),
    }
}

fn render(it: &Template, data: &str) -> Result<Output, Failure> {
    let compiled = compile(it).map_err(Failure::Misconfigured)?;
    LiquidRenderer::render(&compiled, &ctx(), data)
}

/// The body of one part.
fn body(it: &Template, part: Part, data: &str) -> String {
    let output = render(it, data).expect("renders");
    output.bodies.into_iter().find(|it| it.part == part).expect("the part is there").text
}

fn html(source: &str, data: &str) -> String {
    body(&template(&[(Part::Html, source)]), Part::Html, data)
}

fn text(source: &str, data: &str) -> String {
    body(&template(&[(Part::Text, source)]), Part::Text, data)
}

/// Codes and paths of refused data.
fn refused(source: &str, data: &str) -> Vec<(String, String)> {
    match render(&template(&[(Part::Text, source)]), data) {
        Err(Failure::InvalidInput(it)) => {
            it.into_iter().map(|it| (it.code, it.path.unwrap_or_default())).collect()
        }
        Err(Failure::Misconfigured(it)) => {
            it.into_iter().map(|it| (format!("template: {}", it.code), it.message)).collect()
        }
        other @ (Ok(_) | Err(Failure::Internal(_))) => {
            vec![("unexpected".to_owned(), format!("{other:?}"))]
        }
    }
}

fn codes(it: &Template) -> Vec<String> {
    compile(it).map_or_else(|it| it.into_iter().map(|it| it.code).collect(), |_| Vec::new())
}
