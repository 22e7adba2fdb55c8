//! Splits a message into header fields and body (RFC 5322 section 2) without changing a byte.
//!
//! Stricter than section 4.5 of the RFC: a name that ends in white space is no name, because
//! receivers disagree about whose field it is. The header is bounded in size and in fields.

use std::borrow::Cow;

use mail_parser::parsers::MessageStream;

/// Octets of the header, its fields together, at most.
pub const MAX_HEADER: usize = 256 << 10;
/// Fields of the header, at most.
pub const MAX_FIELDS: usize = 1_000;

/// A message that is read where it stands.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The header fields, in order.
    pub fields: Vec<Field<'a>>,
    /// What follows the empty line; empty where there is none.
    pub body: &'a [u8],
    /// The empty line, where there is one, and the body.
    pub tail: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// The name in its written case: visible ASCII without a colon.
    pub name: &'a str,
    /// All of its lines with their line ends.
    pub whole: &'a [u8],
    /// What follows the colon, still folded, without the last line end.
    pub value: &'a [u8],
}

/// Why a message cannot be split; lines are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHeader {
    /// A line of the header that is neither a field nor the continuation of one.
    #[error("line {line} is no header field; an empty line must stand between header and body")]
    NoField { line: usize },
    /// A space between name and colon, which some receivers ignore and others do not.
    #[error("line {line} has white space before the colon; write `Name: value`")]
    SpaceBeforeColon { line: usize },
    /// Nothing is there that the first line could continue.
    #[error("line 1 begins with white space, so it continues a header field that is not there")]
    NothingToContinue,
    /// More fields than any mail program writes.
    #[error("line {line}: the header has more than {MAX_FIELDS} fields")]
    TooManyFields { line: usize },
    /// More octets than any mail program writes.
    #[error("line {line}: the header has more than {} KiB", MAX_HEADER >> 10)]
    TooLarge { line: usize },
}

impl<'a> Message<'a> {
    /// Splits a message whose lines end in CRLF.
    ///
    /// # Errors
    /// A line of its header is malformed, or the header exceeds a bound.
    pub fn split(data: &'a [u8]) -> Result<Self, InvalidHeader> {
        let mut fields: Vec<Field<'a>> = Vec::new();
        let mut rest = data;
        // Of the field that is being read: from its first line on, and its octets so far.
        let mut start = data;
        let mut length = 0;
        for line_number in 1.. {
            let line = first_line(rest);
            let text = line.strip_suffix(b"\r\n").unwrap_or(line);
            if let [b' ' | b'\t', ..] = text {
                let field = fields.last_mut().ok_or(InvalidHeader::NothingToContinue)?;
                length += line.len();
                field.extend_to(start.get(..length).unwrap_or(start));
            } else if text.is_empty() {
                break;
            } else {
                if fields.len() == MAX_FIELDS {
                    return Err(InvalidHeader::TooManyFields { line: line_number });
                }
                fields.push(Field::begin(line, text, line_number)?);
                start = rest;
                length = line.len();
            }
            rest = rest.get(line.len()..).unwrap_or_default();
            if data.len() - rest.len() > MAX_HEADER {
                return Err(InvalidHeader::TooLarge { line: line_number });
            }
        }
        let body = rest.strip_prefix(b"\r\n").unwrap_or_default();
        Ok(Self { fields, body, tail: rest })
    }

    /// The fields of one name, in order; letter case does not matter.
    pub fn named<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Field<'a>> {
        self.fields.iter().filter(move |field| field.is(name))
    }
}

impl<'a> Field<'a> {
    /// Whether this is its name; letter case does not matter.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Its value on one line, decoded; see [`text`].
    #[must_use]
    pub fn text(&self) -> String {
        text(self.value)
    }

    fn begin(line: &'a [u8], text: &'a [u8], number: usize) -> Result<Self, InvalidHeader> {
        let no_field = InvalidHeader::NoField { line: number };
        let colon = text.iter().position(|byte| *byte == b':').ok_or(no_field)?;
        let (name, value) = text.split_at(colon);
        let name = str::from_utf8(name).map_err(|_| no_field)?;
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic());
        if is_name(name) {
            let value = value.strip_prefix(b":").unwrap_or_default();
            return Ok(Self { name, whole: line, value });
        }
        let padded = is_name(name.trim_end_matches([' ', '\t']));
        Err(if padded { InvalidHeader::SpaceBeforeColon { line: number } } else { no_field })
    }

    fn extend_to(&mut self, whole: &'a [u8]) {
        let value = whole.get(self.name.len() + 1..).unwrap_or_default();
        self.whole = whole;
        self.value = value.strip_suffix(b"\r\n").unwrap_or(value);
    }
}

/// A folded value as one line: the line ends go, all white space stays (RFC 5322 section 2.2.3).
#[must_use]
pub fn unfold(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\n') {
        return Cow::Borrowed(value);
    }
    let mut line = Vec::with_capacity(value.len());
    let mut rest = value;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(first_line(rest).len());
        line.extend_from_slice(piece.strip_suffix(b"\r\n").unwrap_or(piece));
        rest = after;
    }
    Cow::Owned(line)
}

/// A value on one line, without outer white space, its encoded words decoded (RFC 2047).
///
/// What is no UTF-8 becomes U+FFFD. An encoded word can hold any character: callers look for
/// control characters where those matter.
#[must_use]
pub fn text(value: &[u8]) -> String {
    let line = unfold(value);
    decode_words(String::from_utf8_lossy(&line).trim_matches([' ', '\t']))
}

/// Decodes the encoded words of a line; all white space stays but that between two of them.
pub(crate) fn decode_words(line: &str) -> String {
    if !line.contains("=?") {
        return line.to_owned();
    }
    let mut text = String::with_capacity(line.len());
    let (mut space, mut after_encoded) = ("", false);
    let mut rest = line;
    while !rest.is_empty() {
        let word_end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let decoded = decode_word(word);
        if !(after_encoded && decoded.is_some()) {
            text.push_str(space);
        }
        text.push_str(decoded.as_deref().unwrap_or(word));
        after_encoded = decoded.is_some();
        let space_end = after.find(|c| c != ' ' && c != '\t').unwrap_or(after.len());
        (space, rest) = after.split_at(space_end);
    }
    text.push_str(space);
    text
}

/// The text of one encoded word: `=?charset?q?…?=` and nothing else.
pub(crate) fn decode_word(word: &str) -> Option<String> {
    let inside = word.strip_prefix('=').filter(|it| it.starts_with('?') && it.ends_with("?="))?;
    let mut stream = MessageStream::new(inside.as_bytes());
    stream.decode_rfc2047().filter(|_| stream.remaining() == 0)
}

/// The octets up to the first line feed, which is taken along.
fn first_line(data: &[u8]) -> &[u8] {
    let end = data.iter().position(|byte| *byte == b'\n').map_or(data.len(), |at| at + 1);
    data.get(..end).unwrap_or(data)
}

#[cfg(test)]
mod tests;
