//! White space of rendered text.

use crate::plaintext::{FRESH_LINE, LINE_END, PARAGRAPH};

/// One line without control characters: runs of white space become one space.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

/// Lines without white space around them, at most one empty line in a row, a newline at the end.
/// The marks of derived text become lines.
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut apart = false;
    for piece in text.split_inclusive(ends_line) {
        let end = piece.chars().next_back().filter(|it| ends_line(*it));
        let line = piece.strip_suffix(ends_line).unwrap_or(piece).trim();
        if !line.is_empty() {
            if apart && !out.is_empty() {
                out.push('\n');
            }
            out.push_str(line);
            out.push('\n');
        }
        let asks = match end {
            Some(PARAGRAPH) => true,
            Some(LINE_END | '\n') => line.is_empty(),
            Some(_) | None => false,
        };
        apart = asks || (apart && line.is_empty());
    }
    out
}

const fn ends_line(c: char) -> bool {
    matches!(c, '\n' | FRESH_LINE | PARAGRAPH | LINE_END)
}
