//! Walks over a structured value (RFC 5322 section 3.2): words, quotes, comments, angle brackets.

use super::not_encodable::NotEncodable;
use super::output::{Output, Run};

/// What begins something other than a word.
const SPECIAL: [char; 10] = [' ', '\t', ',', ':', ';', '(', ')', '<', '>', '"'];

/// Where encoded words may stand, beside comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// In the names of mailboxes and groups.
    Names,
    /// Nowhere.
    CommentsOnly,
}

/// Writes a value, and encodes what is not ASCII.
pub(super) fn write(
    value: &str,
    words: Words,
    output: &mut Output<'_>,
) -> Result<(), NotEncodable> {
    let mut run = Run::default();
    let (mut rest, mut blanks) = (value, "");
    while let Some(first) = rest.chars().next() {
        let (piece, after) = rest.split_at(length(rest, first)?);
        rest = after;
        if matches!(first, ' ' | '\t') {
            blanks = piece;
            continue;
        }
        let text = if first == '"' { unquoted(piece)? } else { piece.to_owned() };
        // Quotes right before `@` are a part of the address, and so is a word with `@` in it.
        let is_address = (first == '"' && rest.starts_with(['@', '.']))
            || (first != '(' && first != '"' && piece.contains('@'));
        let is_apart = run.is_empty() || first == '<';
        if is_address && !(piece.is_ascii() && is_apart) {
            return Err(NotEncodable::Place);
        }
        let may_run = words == Words::Names && !matches!(first, '(' | '<') && !is_address;
        let is_quoted_ascii = first == '"' && piece.is_ascii();
        if may_run && !is_quoted_ascii && !run.is_empty() && run.take(&text, blanks) {
            blanks = "";
            continue;
        }
        output.run(&mut run);
        for _ in blanks.chars() {
            output.blank();
        }
        blanks = "";
        if may_run && !is_quoted_ascii && run.take(&text, "") {
            continue;
        }
        if piece.is_ascii() {
            output.plain(piece);
        } else if first == '(' {
            let inside = piece.get(1..piece.len() - 1).unwrap_or_default();
            output.plain("(");
            output.encoded(&inside.replace('\\', ""));
            output.plain(")");
        } else {
            return Err(NotEncodable::Place);
        }
    }
    output.run(&mut run);
    Ok(())
}

/// The parts between separators that stand neither in quotes nor in comments.
pub(super) fn split(value: &str, separator: char) -> Result<Vec<&str>, NotEncodable> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(first) = value.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = value.get(at..).unwrap_or_default();
        if first == separator {
            parts.push(value.get(start..at).unwrap_or_default());
            at += first.len_utf8();
            start = at;
        } else {
            at += length(rest, first)?;
        }
    }
    parts.push(value.get(start..).unwrap_or_default());
    Ok(parts)
}

/// The content of quotes; any other text unchanged.
pub(super) fn unquoted(text: &str) -> Result<String, NotEncodable> {
    let Some(inside) = text.strip_prefix('"') else { return Ok(text.to_owned()) };
    let mut content = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(content),
            '\\' => content.extend(chars.next()),
            c => content.push(c),
        }
    }
    Err(NotEncodable::Unclosed('"'))
}

/// Octets of what begins here: blanks, quotes, a comment, an address in brackets, a special, or a word.
fn length(text: &str, first: char) -> Result<usize, NotEncodable> {
    let length = match first {
        ' ' | '\t' => text.find(|c| c != ' ' && c != '\t').unwrap_or(text.len()),
        '"' => closed(text, '"', '"')?,
        '(' => closed(text, '(', ')')?,
        '<' => text.find('>').ok_or(NotEncodable::Unclosed('<'))? + 1,
        ',' | ':' | ';' | ')' | '>' => 1,
        _ => text.find(SPECIAL).unwrap_or(text.len()),
    };
    Ok(length)
}

/// Octets up to the end of quotes, or of a comment with the comments in it.
fn closed(text: &str, open: char, close: char) -> Result<usize, NotEncodable> {
    let mut depth = 0_usize;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == close && depth > 0 {
            depth -= 1;
            if depth == 0 {
                return Ok(at + 1);
            }
        } else if c == open {
            depth += 1;
        }
    }
    Err(NotEncodable::Unclosed(open))
}
