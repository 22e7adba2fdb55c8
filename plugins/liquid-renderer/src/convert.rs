//! Between the types of the interface and those of the engine.

use waxwing_liquid as liquid;
use waxwing_plugin::renderer::{Body, Output, Part, Template};
use waxwing_plugin::{Diagnostic, Failure, Severity};

pub fn template(it: &Template) -> liquid::Template {
    let sources = it.sources.iter();
    let partials = it.partials.iter();
    liquid::Template {
        sources: sources
            .map(|it| liquid::Source { part: to_engine(it.part), text: it.text.clone() })
            .collect(),
        partials: partials
            .map(|it| liquid::Partial { name: it.key.clone(), text: it.value.clone() })
            .collect(),
        layout: it.layout.clone(),
    }
}

pub fn output(it: liquid::Output) -> Output {
    let bodies = it.bodies.into_iter();
    Output {
        bodies: bodies.map(|it| Body { part: from_engine(it.part), text: it.text }).collect(),
        missing: it.missing,
    }
}

pub fn failure(it: liquid::RenderError) -> Failure {
    match it {
        liquid::RenderError::Data(faults) => Failure::InvalidInput(diagnostics(faults)),
        liquid::RenderError::Template(faults) => Failure::Misconfigured(diagnostics(faults)),
    }
}

pub fn diagnostics(faults: Vec<liquid::Diagnostic>) -> Vec<Diagnostic> {
    let diagnostic = |it: liquid::Diagnostic| {
        let liquid::Diagnostic { code, message, line, column, snippet, path, part } = it;
        let severity = Severity::Error;
        Diagnostic { severity, code, message, line, column, snippet, path, part }
    };
    faults.into_iter().map(diagnostic).collect()
}

fn to_engine(part: Part) -> liquid::Part {
    match part {
        Part::Subject => liquid::Part::Subject,
        Part::Preheader => liquid::Part::Preheader,
        Part::Html => liquid::Part::Html,
        Part::Text => liquid::Part::Text,
    }
}

fn from_engine(part: liquid::Part) -> Part {
    match part {
        liquid::Part::Subject => Part::Subject,
        liquid::Part::Preheader => Part::Preheader,
        liquid::Part::Html => Part::Html,
        liquid::Part::Text => Part::Text,
    }
}
