//! Source text as text and names.

use waxwing_plugin::{Diagnostic, fault};

/// A piece of a template.
#[derive(Clone)]
pub enum Piece {
    Text(String),
    /// A path into the data.
    Path(String),
    /// A name that only layouts have: `content`, `subject` or `preheader`.
    Given(String),
}

impl Piece {
    pub fn source(&self) -> &str {
        match self {
            Self::Text(it) | Self::Path(it) | Self::Given(it) => it,
        }
    }
}

/// The pieces of a source, in order; what is wrong with it goes to `faults`.
pub fn parse(source: &str, part: &str, faults: &mut Vec<Diagnostic>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while let Some((text, after)) = rest.split_once("{{") {
        pieces.push(Piece::Text(text.to_owned()));
        let before = &source[..source.len() - after.len() - 2];
        let Some((inside, following)) = after.split_once("}}") else {
            faults.push(at(before, part, "`{{` is not closed by `}}`".to_owned()));
            return pieces;
        };
        let path = inside.trim();
        if !path.split('.').all(is_name) {
            let message =
                format!("`{path}` is not a name: write {{{{ name }}}} or {{{{ user.name }}}}");
            faults.push(at(before, part, message));
        } else if part == "layout" && matches!(path, "content" | "subject" | "preheader") {
            pieces.push(Piece::Given(path.to_owned()));
        } else {
            pieces.push(Piece::Path(path.to_owned()));
        }
        rest = following;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

/// The pieces of a layout with the content in its place.
pub fn wrap(content: &[Piece], layout: Vec<Piece>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for piece in layout {
        match piece {
            Piece::Given(name) if name == "content" => pieces.extend_from_slice(content),
            other => pieces.push(other),
        }
    }
    pieces
}

fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// A fault at the end of `before`; lines and columns begin with 1.
fn at(before: &str, part: &str, message: String) -> Diagnostic {
    let line = before.split('\n').count();
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    Diagnostic {
        line: u32::try_from(line).unwrap_or(0),
        column: u32::try_from(column).unwrap_or(0),
        part: Some(part.to_owned()),
        ..fault("syntax", message)
    }
}
