//! Template errors with their position, and how they become diagnostics.

use crate::ast::SourceOffset;
use crate::template::Diagnostic;

/// An error at a byte offset of the source.
#[derive(Debug)]
pub struct Fault {
    pub code: &'static str,
    pub message: String,
    pub at: SourceOffset,
}

impl Fault {
    pub fn new(code: &'static str, at: SourceOffset, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at }
    }

    /// Adds the place: which part, line, column and the line's text.
    pub fn into_diagnostic(self, part: &str, source: &str) -> Diagnostic {
        let (line, column, snippet) = place(source, self.at as usize);
        let (snippet, part) = (Some(snippet), Some(part.to_owned()));
        Diagnostic { line, column, snippet, part, ..Diagnostic::new(self.code, self.message) }
    }
}

/// 1-based line and column (in characters), and the line's text around the place.
fn place(source: &str, at: usize) -> (u32, u32, String) {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = source.split_at(at);
    let line_start = before.rsplit('\n').next().unwrap_or_default();
    let line_end = after.split('\n').next().unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = line_start.chars().count() + 1;
    let lead: Vec<char> = line_start.chars().rev().take(60).collect();
    let snippet = lead.into_iter().rev().chain(line_end.chars().take(60)).collect::<String>();
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    (number(line), number(column), snippet.trim().to_owned())
}
