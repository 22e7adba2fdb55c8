//! Repairs a submitted message that a next hop would refuse: without SMTPUTF8, UTF-8 in header fields becomes encoded
//! words (RFC 2047); parts with lines over 998 octets are re-encoded. What it cannot repair (a signed field or body, an
//! address, a header line over 998 octets) is refused at submission, where the client gets the reply; a next hop would
//! refuse it for good after the 250.

use super::encoded_header::{self, NotEncodable};
use super::field::{Field, InvalidHeader, Message, unfold};
use super::raw::travels;
use super::seven_bit::{CannotConvert, MAX_LINE, has_long_line, to_short_lines};

/// What the header may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// ASCII; the rest is encoded.
    Ascii,
    /// UTF-8: the client has asked for SMTPUTF8 (RFC 6531).
    Utf8,
}

/// Why a message cannot be carried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCarriable {
    /// The header is malformed.
    #[error("{0}")]
    Header(#[from] InvalidHeader),
    /// A field that is not ASCII, and cannot be encoded.
    #[error("{reason}")]
    Field { name: String, reason: NotEncodable },
    /// A field that is not ASCII, and is signed unchanged.
    #[error(
        "is not ASCII, and the message's DKIM-Signature covers it; encode it (RFC 2047) before the message \
         is signed, or send with SMTPUTF8"
    )]
    SignedField { name: String },
    /// A line of a field that is too long. Where a value may be folded is not known of every field.
    #[error("has a line over {MAX_LINE} octets; fold it")]
    LongField { name: String },
    /// A line of the body that is too long, in a message whose body is signed.
    #[error(
        "line {line} is longer than {MAX_LINE} octets, and the message's DKIM-Signature covers it; encode \
         the body as quoted-printable or base64 before the message is signed"
    )]
    SignedLine {
        /// Counted from 1.
        line: usize,
    },
    /// A line of the body that is too long, in a part that cannot be encoded.
    #[error(
        "line {line} is longer than {MAX_LINE} octets, and {reason}; encode the body as quoted-printable or \
         base64"
    )]
    Line {
        /// Counted from 1.
        line: usize,
        reason: CannotConvert,
    },
}

impl NotCarriable {
    /// The name of the header field at fault; empty for another place.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::Field { name, .. } | Self::SignedField { name } | Self::LongField { name } => {
                name
            }
            Self::Header(_) | Self::SignedLine { .. } | Self::Line { .. } => "",
        }
    }
}

/// The message as it can be carried; the same octets where nothing is in the way.
///
/// # Errors
/// All that cannot be put right.
pub fn carriable(data: Vec<u8>, letters: Letters) -> Result<Vec<u8>, Vec<NotCarriable>> {
    let data = with_ascii_header(data, letters)?;
    if !has_long_line(&data) {
        return Ok(data);
    }
    let message = Message::split(&data).map_err(|error| vec![error.into()])?;
    let long = message.fields.iter().filter(|it| travels(it) && has_long_line(it.whole));
    let long: Vec<_> =
        long.map(|it| NotCarriable::LongField { name: it.name.to_owned() }).collect();
    if !long.is_empty() {
        return Err(long);
    }
    if !has_long_line(message.body) {
        // Only in fields that do not travel.
        return Ok(data);
    }
    let line = first_long_line(&data);
    if message.named("DKIM-Signature").next().is_some() {
        return Err(vec![NotCarriable::SignedLine { line }]);
    }
    to_short_lines(&data).map_err(|reason| vec![NotCarriable::Line { line, reason }])
}

fn with_ascii_header(data: Vec<u8>, letters: Letters) -> Result<Vec<u8>, Vec<NotCarriable>> {
    let message = Message::split(&data).map_err(|error| vec![error.into()])?;
    let must_change = |field: &Field<'_>| !field.whole.is_ascii() && travels(field);
    if letters == Letters::Utf8 || !message.fields.iter().any(must_change) {
        return Ok(data);
    }
    let signed = signed_fields(&message);
    let mut output = Vec::with_capacity(data.len() + 1_024);
    let mut faults = Vec::new();
    for field in &message.fields {
        if !must_change(field) {
            output.extend_from_slice(field.whole);
        } else if signed.iter().any(|name| field.is(name)) {
            faults.push(NotCarriable::SignedField { name: field.name.to_owned() });
        } else {
            match encoded_header::encode(field) {
                Ok(encoded) => output.extend_from_slice(&encoded),
                Err(reason) => {
                    faults.push(NotCarriable::Field { name: field.name.to_owned(), reason });
                }
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    output.extend_from_slice(message.tail);
    Ok(output)
}

/// The names of the fields that the message's own DKIM signatures cover (RFC 6376 section 3.5).
fn signed_fields(message: &Message<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for signature in message.named("DKIM-Signature") {
        let value = String::from_utf8_lossy(&unfold(signature.value)).into_owned();
        let tags = value.split(';').filter_map(|tag| tag.split_once('='));
        for (_, covered) in tags.filter(|(tag, _)| tag.trim() == "h") {
            names.extend(covered.split(':').map(|name| name.trim().to_owned()));
        }
    }
    names
}

fn first_long_line(data: &[u8]) -> usize {
    let lines = data.split_inclusive(|byte| *byte == b'\n');
    lines.take_while(|line| !has_long_line(line)).count() + 1
}

#[cfg(test)]
mod tests;
