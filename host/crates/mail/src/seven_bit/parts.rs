//! The parts of a multipart, with its preamble and epilogue (RFC 2046 section 5.1.1).

use super::cannot_convert::CannotConvert;
use super::goal::{Goal, MAX_LINE};

/// Writes a multipart's body, each part as `write_part` writes it.
pub(super) fn write(
    body: &[u8],
    boundary: &str,
    goal: Goal,
    output: &mut Vec<u8>,
    write_part: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), CannotConvert>,
) -> Result<(), CannotConvert> {
    // The preamble, and everything after it.
    let (preamble, mut rest) = until_delimiter(body, boundary);
    if rest.is_empty() {
        return Err(CannotConvert::NoBoundary);
    }
    write_preamble_or_epilogue(preamble, goal, output);
    loop {
        let (delimiter, after) = rest.split_at(line_len(rest));
        output.extend_from_slice(delimiter);
        if is_delimiter(delimiter, boundary) == Some(Delimiter::Close) {
            write_preamble_or_epilogue(after, goal, output);
            return Ok(());
        }
        let (part, next) = until_delimiter(after, boundary);
        // The line end before a delimiter belongs to it.
        let content = part.strip_suffix(b"\r\n").filter(|_| !next.is_empty()).unwrap_or(part);
        write_part(content, output)?;
        output.extend_from_slice(part.get(content.len()..).unwrap_or_default());
        if next.is_empty() {
            // The message was cut off.
            return Ok(());
        }
        rest = next;
    }
}

/// No reader shows it, so it may lose text: octets over 127 become '?', or long lines are cut at 998 octets.
fn write_preamble_or_epilogue(text: &[u8], goal: Goal, output: &mut Vec<u8>) {
    match goal {
        Goal::SevenBit => {
            output.extend(text.iter().map(|byte| if byte.is_ascii() { *byte } else { b'?' }));
        }
        Goal::ShortLines => {
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                let end: &[u8] = if line.ends_with(b"\r\n") { b"\r\n" } else { b"" };
                let words = line.strip_suffix(b"\r\n").unwrap_or(line);
                output.extend(words.iter().take(MAX_LINE));
                output.extend_from_slice(end);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    Open,
    Close,
}

/// The lines before the next delimiter, and the rest from there.
fn until_delimiter<'a>(text: &'a [u8], boundary: &str) -> (&'a [u8], &'a [u8]) {
    let mut at = 0;
    while let Some(rest @ [_, ..]) = text.get(at..) {
        let end = line_len(rest);
        let line = rest.get(..end).unwrap_or(rest);
        if is_delimiter(line, boundary).is_some() {
            break;
        }
        at += end;
    }
    text.split_at_checked(at).unwrap_or((text, &[]))
}

fn is_delimiter(line: &[u8], boundary: &str) -> Option<Delimiter> {
    let rest = line.strip_prefix(b"--")?.strip_prefix(boundary.as_bytes())?;
    match rest.trim_ascii_end() {
        b"" => Some(Delimiter::Open),
        b"--" => Some(Delimiter::Close),
        _ => None,
    }
}

/// Octets of the first line, its end included.
fn line_len(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}
