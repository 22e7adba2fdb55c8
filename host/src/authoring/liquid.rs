//! Where Liquid stands in a text: outputs and tags, and whole `raw`, `comment` and `doc` blocks.
//!
//! The cuts are those of the engine: an output or a tag ends at the first `}}` or `%}`. What does not end is left to
//! the engine, which names it.

use std::ops::Range;

/// A piece of Liquid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `{{ … }}`
    Output,
    /// `{% if %}`, `{% unless %}`, `{% case %}`
    Choice,
    /// `{% else %}`, `{% elsif %}`, `{% when %}`
    Branch,
    /// The end of a choice.
    EndChoice,
    /// `{% render %}`, `{% include %}`
    Call,
    /// Any other tag, or a block that is not rendered.
    Other,
}

/// Characters of a snippet.
const SNIPPET: usize = 80;
const OPAQUE: [&str; 3] = ["raw", "comment", "doc"];

/// All pieces, in order; what does not end, and all behind it, is none.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    while let Some(token) = next(text, tokens.last().map_or(0, |it| it.range.end)) {
        tokens.push(token);
    }
    tokens
}

fn next(text: &str, from: usize) -> Option<Token> {
    let rest = text.get(from..)?;
    let start = from + rest.match_indices('{').map(|(at, _)| at).find(|at| is_open(rest, *at))?;
    let opened = text.get(start..)?;
    let close = if opened.starts_with("{{") { "}}" } else { "%}" };
    let mut end = start + 2 + opened.get(2..)?.find(close)? + 2;
    if close == "}}" {
        return Some(Token { range: start..end, kind: TokenKind::Output });
    }
    let word = word(text.get(start + 2..end - 2)?);
    if OPAQUE.contains(&word) {
        end = end_of(text, end, word)?;
    }
    let kind = match word {
        "if" | "unless" | "case" => TokenKind::Choice,
        "else" | "elsif" | "when" => TokenKind::Branch,
        "endif" | "endunless" | "endcase" => TokenKind::EndChoice,
        "render" | "include" => TokenKind::Call,
        _ => TokenKind::Other,
    };
    Some(Token { range: start..end, kind })
}

fn is_open(text: &str, at: usize) -> bool {
    matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%'))
}

/// The first word of a tag.
pub fn word(inside: &str) -> &str {
    let inside = inside.trim_start_matches('-').trim_start();
    let end = inside.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(inside.len());
    inside.get(..end).unwrap_or_default()
}

fn end_of(text: &str, from: usize, block: &str) -> Option<usize> {
    let mut at = from;
    loop {
        let start = at + text.get(at..)?.find("{%")?;
        let length = text.get(start..)?.find("%}")?;
        let end = start + length + 2;
        if word(text.get(start + 2..end - 2)?).strip_prefix("end") == Some(block) {
            return Some(end);
        }
        at = end;
    }
}

/// The text in which each piece is as long as before: letters for what prints, blanks for what does not.
pub fn masked(text: &str, tokens: &[Token]) -> String {
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for token in tokens {
        masked.push_str(text.get(at..token.range.start).unwrap_or_default());
        let is_shown = matches!(token.kind, TokenKind::Output | TokenKind::Call);
        let letter = if is_shown { 'x' } else { ' ' };
        masked.extend(std::iter::repeat_n(letter, token.range.len()));
        at = token.range.end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    masked
}

/// Both from 1, the column in characters.
pub fn line_and_column(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// The rest of the line from a place on.
pub fn snippet(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    rest.lines().next().unwrap_or_default().chars().take(SNIPPET).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liquid_is_cut_as_the_engine_cuts_and_masked_at_its_length() {
        let text = "a{{ b | append: '<' }}{%- if x < 1 -%}é{% raw %}{{ c }}{% endraw %}{% render 'd' %}{{ open";
        let tokens = tokens(text);
        let kinds: Vec<TokenKind> = tokens.iter().map(|it| it.kind).collect();
        let wanted = [TokenKind::Output, TokenKind::Choice, TokenKind::Other, TokenKind::Call];
        assert_eq!(kinds, wanted);
        let masked = masked(text, &tokens);
        assert_eq!(masked.len(), text.len());
        assert!(!masked.contains('<') && masked.ends_with("{{ open"), "{masked}");
    }
}
