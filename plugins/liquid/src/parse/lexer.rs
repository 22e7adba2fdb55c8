//! The tokens inside `{{ }}` and `{% %}`.

use crate::ast::SourceOffset;
use crate::fault::Fault;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'s> {
    Name(&'s str),
    Int(i64),
    Float(f64),
    Str(&'s str),
    /// Any operator or punctuation, as written.
    Mark(&'s str),
}

/// A token and where it stands in the source.
#[derive(Debug, Clone, Copy)]
pub struct Spanned<'s> {
    pub token: Token<'s>,
    pub start: usize,
    pub end: usize,
}

/// Marks of two characters come first: the longest match wins.
const MARKS: [&str; 19] = [
    "==", "!=", "<>", "<=", ">=", "..", ".", "[", "]", "(", ")", "|", ":", ",", "=", "<", ">", "?",
    "-",
];

/// Cuts `source[start..end]` into tokens.
pub fn tokens(source: &str, start: usize, end: usize) -> Result<Vec<Spanned<'_>>, Fault> {
    let mut out = Vec::new();
    let mut at = start;
    while let Some(rest) = source.get(at..end) {
        let Some(c) = rest.chars().next() else { break };
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = next(rest, c, at)?;
        out.push(Spanned { token, start: at, end: at + length });
        at += length;
    }
    Ok(out)
}

fn next(rest: &str, c: char, at: usize) -> Result<(Token<'_>, usize), Fault> {
    if c == '"' || c == '\'' {
        let body = rest.get(1..).unwrap_or_default();
        let Some(length) = body.find(c) else {
            return Err(Fault::new("syntax", place(at), "a string without its closing quote"));
        };
        return Ok((Token::Str(body.get(..length).unwrap_or_default()), length + 2));
    }
    if c.is_ascii_digit() || (c == '-' && rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit())) {
        return number(rest, at);
    }
    if c.is_alphabetic() || c == '_' {
        let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let mut length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        if rest.get(length..).is_some_and(|it| it.starts_with('?')) {
            length += 1;
        }
        return Ok((Token::Name(rest.get(..length).unwrap_or_default()), length));
    }
    match MARKS.iter().find(|it| rest.starts_with(**it)) {
        Some(mark) => Ok((Token::Mark(mark), mark.len())),
        None => Err(Fault::new("syntax", place(at), format!("unexpected character `{c}`"))),
    }
}

fn number(rest: &str, at: usize) -> Result<(Token<'_>, usize), Fault> {
    let sign = usize::from(rest.starts_with('-'));
    let digits = |from: usize| {
        rest.get(from..).map_or(0, |it| it.find(|c: char| !c.is_ascii_digit()).unwrap_or(it.len()))
    };
    let whole = sign + digits(sign);
    let fraction =
        if rest.get(whole..).is_some_and(|it| it.starts_with('.')) { digits(whole + 1) } else { 0 };
    if fraction > 0 {
        return float(rest, at, whole + 1 + fraction);
    }
    let text = rest.get(..whole).unwrap_or_default();
    // What does not fit in 64 bits is a float.
    text.parse().map_or_else(|_| float(rest, at, whole), |it| Ok((Token::Int(it), whole)))
}

fn float(rest: &str, at: usize, length: usize) -> Result<(Token<'_>, usize), Fault> {
    let text = rest.get(..length).unwrap_or_default();
    match text.parse() {
        Ok(it) => Ok((Token::Float(it), length)),
        Err(_) => Err(Fault::new("syntax", place(at), format!("`{text}` is not a number"))),
    }
}

/// A position as faults carry it.
pub fn place(at: usize) -> SourceOffset {
    SourceOffset::try_from(at).unwrap_or(SourceOffset::MAX)
}
