//! A document to HTML: put together, checked, rendered by mrml, and Liquid put back.

use mrml::prelude::parser::Error as ParseError;
use mrml::prelude::render::RenderOptions;
use waxwing_plugin::mjml_compiler::{Compiled, Document};
use waxwing_plugin::{Diagnostic, Severity};

use crate::assembly::Assembly;
use crate::check::{self, Findings};
use crate::liquid::TokenKind;

/// Compiles a document.
///
/// # Errors
/// Every fault that could be found.
pub fn compile(document: &Document) -> Result<Compiled, Vec<Diagnostic>> {
    let assembly = Assembly::new(document)?;
    let Findings { faults, mut warnings, preview, optional } = check::check(&assembly);
    if !faults.is_empty() {
        return Err(faults);
    }
    let parsed = mrml::parse(&assembly.text).map_err(|it| vec![refused(&assembly, &it)])?;
    let rendered = parsed.element.render(&RenderOptions::default()).map_err(|error| {
        vec![assembly.fault(0, "not_rendered", format!("mrml does not render this: {error}"))]
    })?;
    let (html, is_there) = assembly.unmasked(&rendered);
    let mut lost = Vec::new();
    for (index, word) in assembly.words.iter().enumerate().filter(|(index, _)| !is_there[*index]) {
        let liquid: String = word.liquid.chars().take(60).collect();
        let message = format!(
            "`{liquid}` is not in the HTML, because nothing shows the place where it stands; take it \
             out, or put it elsewhere"
        );
        let fault = assembly.fault(word.at, "liquid_lost", message);
        if optional.contains(&index) && word.kind == TokenKind::Output {
            warnings.push(Diagnostic { severity: Severity::Warning, ..fault });
        } else {
            lost.push(fault);
        }
    }
    let preheader = preview.map(|it| plain(&it)).filter(|it| !it.is_empty());
    if lost.is_empty() { Ok(Compiled { html, preheader, warnings }) } else { Err(lost) }
}

/// The text of `mj-preview` on one line.
fn plain(preview: &str) -> String {
    preview.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What mrml says of a document that the check let pass.
fn refused(assembly: &Assembly<'_>, error: &ParseError) -> Diagnostic {
    let (at, message) = match error {
        ParseError::UnexpectedElement { position, .. } => {
            (position.start, "this element does not belong here".to_owned())
        }
        ParseError::UnexpectedToken { position, .. } => {
            (position.start, "this does not belong here".to_owned())
        }
        ParseError::MissingAttribute { name, position, .. } => {
            (position.start, format!("this element needs the attribute `{name}`"))
        }
        ParseError::InvalidAttribute { position, .. } => {
            (position.start, "this attribute has no value that is known".to_owned())
        }
        ParseError::InvalidFormat { position, .. } => {
            (position.start, "this value has no form that is known".to_owned())
        }
        ParseError::IncludeLoaderError { position, .. } => {
            (position.start, "includes do not stand here".to_owned())
        }
        ParseError::EndOfStream { .. }
        | ParseError::SizeLimit { .. }
        | ParseError::ParserError { .. }
        | ParseError::NoRootNode => (0, format!("mrml does not read this document: {error}")),
    };
    assembly.fault(at, "not_mjml", message)
}
