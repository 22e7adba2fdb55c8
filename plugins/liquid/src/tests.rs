//! Tests of the whole engine through its public types.

mod data;
mod hostile;
mod locales;
mod messages;
mod output;
mod readme;
mod source;
mod speed;
mod variables;

use crate::{
    Compiled, Diagnostic, Output, Part, Partial, RenderError, Source, Template, Undefined,
};

/// 2024-03-05T06:07:08Z.
const NOW: u64 = 1_709_618_828_000;

fn template(parts: &[(Part, &str)]) -> Template {
    let source = |(part, text): &(Part, &str)| Source { part: *part, text: (*text).to_owned() };
    Template { sources: parts.iter().map(source).collect(), partials: Vec::new(), layout: None }
}

fn with_partials(mut it: Template, partials: &[(&str, &str)]) -> Template {
    let partial = |(name, text): &(&str, &str)| Partial {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
    };
    it.partials = partials.iter().map(partial).collect();
    it
}

fn compile(it: &Template) -> Result<Compiled, Vec<Diagnostic>> {
    Compiled::new(it, Undefined::Required)
}

fn render(it: &Template, data: &str) -> Result<Output, RenderError> {
    compile(it).map_err(RenderError::Template)?.render(NOW, data)
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
        Err(RenderError::Data(it)) => {
            it.into_iter().map(|it| (it.code, it.path.unwrap_or_default())).collect()
        }
        Err(RenderError::Template(it)) => {
            it.into_iter().map(|it| (format!("template: {}", it.code), it.message)).collect()
        }
        Ok(output) => vec![("unexpected".to_owned(), format!("{output:?}"))],
    }
}

fn codes(it: &Template) -> Vec<String> {
    compile(it).map_or_else(|it| it.into_iter().map(|it| it.code).collect(), |_| Vec::new())
}
