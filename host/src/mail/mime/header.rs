//! Headers whose values come from outside: cleaned, then encoded and folded (RFC 5322, RFC 2047).
//!
//! mail-builder encodes what is not ASCII and quotes names. Not left to it: control characters,
//! which it passes on; ASCII that reads like an encoded word, which it writes as it stands, so
//! that readers decode it; ASCII over 77 characters, which it encodes where folding does; and
//! header names so long that no encoded word fits beside them.

use std::borrow::Cow;

use mail_builder::encoders::Base64Encoder;
use mail_builder::headers::Header;
use mail_builder::headers::address::Address;
use mail_builder::headers::date::Date;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;

use crate::clock::Timestamp;
use crate::message::address::EmailAddress;

/// Names of further headers; RFC 5322 section 2.1.1 wants lines within 78.
const MAX_NAME: usize = 77;
/// RFC 2047 section 2: a line that holds an encoded word.
const MAX_ENCODED_LINE: usize = 76;
/// Leaves room for any name within the 998 octets of RFC 5322 section 2.1.1.
const MAX_ATOM: usize = 900;
/// Octets in an encoded word of our own: 52 characters of base64 and 12 around them.
const WORD_OCTETS: usize = 39;
const WORD_LEN: usize = 64;

/// Writes the Date, in UTC.
pub(super) fn date(date: Timestamp, output: &mut Vec<u8>) {
    output.extend_from_slice(b"Date: ");
    Date::new(date.millis().div_euclid(1_000)).write_header(output, 6);
}

/// Writes a header with one address.
pub(super) fn mailbox(
    name: &str,
    display: Option<&str>,
    address: &EmailAddress,
    output: &mut Vec<u8>,
) {
    let display = display.map(clean).filter(|display| !display.is_empty());
    if let Some(display) = display.as_deref().filter(|it| holds_encoded_word(it)) {
        start(name, WORD_LEN, output);
        write_words(display, output);
        output.extend_from_slice(format!("\r\n <{address}>\r\n").as_bytes());
        return;
    }
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b": ");
    Address::new_address(display, address.to_string()).write_header(output, name.len() + 2);
}

/// Writes a header of free text; of the structured ones, those whose value is ASCII.
pub(super) fn unstructured(name: &str, value: &str, output: &mut Vec<u8>) {
    let value = clean(value);
    if value.is_empty() {
        output.extend_from_slice(name.as_bytes());
        output.extend_from_slice(b":\r\n");
    } else if !value.is_ascii() {
        let column = start(name, WORD_LEN / 2, output);
        Text::new(value).write_header(output, column);
    } else if holds_encoded_word(&value) || value.split(' ').any(|atom| atom.len() > MAX_ATOM) {
        start(name, WORD_LEN, output);
        write_words(&value, output);
        output.extend_from_slice(b"\r\n");
    } else {
        // No fold right after the colon here: some readers take it for a leading space.
        output.extend_from_slice(name.as_bytes());
        output.extend_from_slice(b": ");
        Raw::new(value).write_header(output, name.len() + 2);
    }
}

/// Writes a header with one `<id>`, which [`clean_identifier`] has seen.
pub(super) fn identifier(name: &str, id: &str, output: &mut Vec<u8>) {
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b": <");
    output.extend_from_slice(id.as_bytes());
    output.extend_from_slice(b">\r\n");
}

/// What may stand between angle brackets: visible ASCII without them.
pub(super) fn clean_identifier(id: &str) -> String {
    let allowed = |c: &char| c.is_ascii_graphic() && !matches!(c, '<' | '>');
    let mut clean = String::with_capacity(id.len().min(MAX_ATOM));
    clean.extend(id.chars().filter(allowed).take(MAX_ATOM));
    clean
}

/// Whether a further header has a well-formed name that is neither ours nor the envelope's.
pub(super) fn may_be_added(name: &str) -> bool {
    const OURS: [&str; 8] =
        ["bcc", "date", "from", "message-id", "mime-version", "reply-to", "subject", "to"];
    let lower = name.to_ascii_lowercase();
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !lower.starts_with("content-")
        && !OURS.contains(&lower.as_str())
}

/// One space for every run of spaces, control characters and line breaks; none outside.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let is_space = |c: char| c == ' ' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut after_space = true;
    let mut is_clean = true;
    for c in text.chars() {
        is_clean &= !is_space(c) || (c == ' ' && !after_space);
        after_space = is_space(c);
    }
    if is_clean && (!after_space || text.is_empty()) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !clean.is_empty() {
            clean.push(' ');
        }
        clean.push_str(word);
    }
    Cow::Owned(clean)
}

/// Writes the name, and a fold if an encoded word of `first` octets would not fit on its line;
/// tells the column.
fn start(name: &str, first: usize, output: &mut Vec<u8>) -> usize {
    output.extend_from_slice(name.as_bytes());
    if name.len() + 2 + first > MAX_ENCODED_LINE {
        output.extend_from_slice(b":\r\n ");
        return 1;
    }
    output.extend_from_slice(b": ");
    name.len() + 2
}

/// Whether a reader would decode something in this text: `=?charset?q?…?=`.
fn holds_encoded_word(text: &str) -> bool {
    let Some(end) = text.rfind("?=") else { return false };
    text.match_indices("=?").any(|(at, _)| {
        let mut fields = text.get(at + 2..end).unwrap_or_default().splitn(3, '?').skip(1);
        matches!(fields.next(), Some("q" | "Q" | "b" | "B")) && fields.next().is_some()
    })
}

/// Writes base64 encoded words, one a line, never splitting a character.
fn write_words(text: &str, output: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(WORD_OCTETS));
        output.extend_from_slice(b"=?utf-8?B?");
        Base64Encoder::new().encode_into(word.as_bytes(), output);
        output.extend_from_slice(b"?=");
        rest = after;
        if !rest.is_empty() {
            output.extend_from_slice(b"\r\n ");
        }
    }
}
