//! Where Liquid stands in a source: outputs and tags, and whole `raw`, `comment` and `doc` blocks.
//!
//! The cuts are those of `waxwing-liquid`: an output or a tag ends at the first `}}` or `%}`, also
//! inside of a text. Whether it is good Liquid, that engine says when it reads the HTML.

use std::ops::Range;

/// A piece of Liquid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `{{ … }}`, which prints.
    Output,
    /// `{% for %}`, `{% tablerow %}`: what follows may come several times.
    Loop,
    /// `{% if %}`, `{% unless %}`, `{% case %}`: what follows may be left out.
    Choice,
    /// Any other tag, or a whole block that is not rendered.
    Other,
}

/// What a piece of Liquid begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// `{{`
    Output,
    /// `{%`
    Tag,
}

/// Blocks whose inside is no markup of the document.
const OPAQUE: [&str; 3] = ["raw", "comment", "doc"];

/// All pieces in order; the start of one that does not end is the error.
pub fn tokens(source: &str) -> Result<Vec<Token>, usize> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some((start, opening)) = next_open(source, at) {
        let end = end_of(source, start, opening).ok_or(start)?;
        let name = match opening {
            Opening::Tag => name(source, start..end),
            Opening::Output => "",
        };
        let end = if OPAQUE.contains(&name) {
            end_of_block(source, end, name).ok_or(start)?
        } else {
            end
        };
        tokens.push(Token { range: start..end, kind: kind(opening, name) });
        at = end;
    }
    Ok(tokens)
}

fn kind(opening: Opening, name: &str) -> TokenKind {
    match name {
        _ if opening == Opening::Output => TokenKind::Output,
        "for" | "tablerow" => TokenKind::Loop,
        "if" | "unless" | "case" => TokenKind::Choice,
        _ => TokenKind::Other,
    }
}

fn next_open(source: &str, from: usize) -> Option<(usize, Opening)> {
    let bytes = source.as_bytes();
    (from..bytes.len().saturating_sub(1)).find_map(|at| match (bytes[at], bytes[at + 1]) {
        (b'{', b'{') => Some((at, Opening::Output)),
        (b'{', b'%') => Some((at, Opening::Tag)),
        _ => None,
    })
}

fn end_of(source: &str, start: usize, opening: Opening) -> Option<usize> {
    let close = match opening {
        Opening::Output => "}}",
        Opening::Tag => "%}",
    };
    let length = source.get(start + 2..)?.find(close)?;
    Some(start + 2 + length + close.len())
}

fn name(source: &str, tag: Range<usize>) -> &str {
    let inside = source.get(tag.start + 2..tag.end - 2).unwrap_or_default();
    let inside = inside.strip_prefix('-').unwrap_or(inside).trim_start();
    let end = inside.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inside.len());
    inside.get(..end).unwrap_or_default()
}

/// Behind the `{% end… %}` of a block; comments nest, and a `raw` inside of one hides its tags.
fn end_of_block(source: &str, from: usize, block: &str) -> Option<usize> {
    let (mut at, mut depth) = (from, 1_u32);
    loop {
        let start = at + source.get(at..)?.find("{%")?;
        let end = end_of(source, start, Opening::Tag)?;
        let found = name(source, start..end);
        at = end;
        if found.strip_prefix("end") == Some(block) {
            depth -= 1;
        } else if block == "comment" && found == "comment" {
            depth += 1;
        } else if block == "comment" && found == "raw" {
            at = end_of_block(source, end, "raw").unwrap_or(end);
        }
        if depth == 0 {
            return Some(end);
        }
    }
}
