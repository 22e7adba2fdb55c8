//! A message in seven bits, for a server without 8BITMIME (RFC 6152 section 3).
//!
//! Only parts with 8-bit content change, and of their headers only Content-Transfer-Encoding; every
//! other byte stays as it is and where it is. What a reader decodes is the same before and after.

mod leaf;
mod parts;

#[cfg(test)]
mod tests;

use mail_parser::ContentType;
use mail_parser::parsers::MessageStream;

use super::field::{InvalidHeader, Message, unfold};

const MAX_DEPTH: usize = 50;
/// Octets of a Content-Type; reading it takes time by the square.
const MAX_VALUE: usize = 4_000;
const ENCODING: &str = "Content-Transfer-Encoding";

/// Why a message has to stay in eight bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CannotConvert {
    /// A header with octets over 127 needs SMTPUTF8.
    #[error("a header field of the message is not ASCII")]
    Header,
    /// A signature covers the octets as they are (RFC 1847).
    #[error("the 8-bit part of the message is signed")]
    Signed,
    /// A part may not be encoded, or is not encoded as it says.
    #[error("the 8-bit part of the message cannot be encoded, or is not what its header says")]
    Encoding,
    /// The header of a part is malformed.
    #[error("a header of the message is malformed: {0}")]
    Malformed(#[from] InvalidHeader),
    /// A multipart without a boundary, or without one of its lines.
    #[error("a multipart of the message has no boundary lines")]
    NoBoundary,
    /// Parts within parts.
    #[error("parts of the message are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// Whether a message has octets over 127.
#[must_use]
pub fn is_eight_bit(raw: &[u8]) -> bool {
    !raw.is_ascii()
}

/// The same message without an octet over 127. It has to be signed (DKIM) after this, not before.
///
/// # Errors
/// That would change what it says, or break a signature within.
pub fn to_seven_bit(raw: &[u8]) -> Result<Vec<u8>, CannotConvert> {
    let mut output = Vec::with_capacity(raw.len() + raw.len() / 2);
    convert(raw, Kind::Leaf, Place::Message, MAX_DEPTH, &mut output)?;
    Ok(output)
}

/// A header and what it is the header of.
struct Entity<'a> {
    whole: &'a [u8],
    message: Message<'a>,
    kind: Kind,
    place: Place,
    encoding: Encoding,
}

/// What an entity holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Parts; those that do not say what they are, are of the other kind (RFC 2046 section 5.1.5).
    Multipart(String, Box<Kind>),
    /// `multipart/signed`.
    Signed,
    /// `message/rfc822`.
    Message,
    /// Another message, or a multipart without boundary: never encoded.
    Rigid,
    /// Everything else.
    Leaf,
}

/// Where an entity stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the message, and ends with a line end.
    Message,
    /// It is a message within a part.
    Inner,
    /// It is a part; the line end behind it belongs to the boundary, as behind an inner message.
    Part,
}

/// How content is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Not, and it does not say that it might have 8-bit content.
    SevenBit,
    /// Not, and it says so.
    EightBit,
    /// In a way that leaves only ASCII, or in a way that nobody knows.
    Encoded,
}

/// Writes an entity in seven bits. What is ASCII goes through as it is, however malformed.
fn convert(
    whole: &[u8],
    default: Kind,
    place: Place,
    depth: usize,
    output: &mut Vec<u8>,
) -> Result<(), CannotConvert> {
    let start = output.len();
    let depth = depth.checked_sub(1).ok_or(CannotConvert::TooDeep);
    let written = depth.and_then(|depth| Entity::new(whole, default, place)?.write(depth, output));
    if written.is_err() && whole.is_ascii() {
        output.truncate(start);
        output.extend_from_slice(whole);
        return Ok(());
    }
    written
}

impl<'a> Entity<'a> {
    fn new(whole: &'a [u8], default: Kind, place: Place) -> Result<Self, CannotConvert> {
        let message = Message::split(whole)?;
        if message.fields.iter().any(|field| !field.whole.is_ascii()) {
            return Err(CannotConvert::Header);
        }
        let kind = Kind::of(&message, default)?;
        let encoding = Encoding::of(&message);
        Ok(Self { whole, message, kind, place, encoding })
    }

    fn write(&self, depth: usize, output: &mut Vec<u8>) -> Result<(), CannotConvert> {
        let body = self.message.body;
        if body.is_ascii() && (self.encoding != Encoding::EightBit || body.is_empty()) {
            output.extend_from_slice(self.whole);
            return Ok(());
        }
        if self.encoding == Encoding::Encoded {
            return Err(CannotConvert::Encoding);
        }
        match &self.kind {
            Kind::Multipart(boundary, parts) => {
                self.write_header("7bit", output);
                parts::write(body, boundary, parts, depth, output)
            }
            Kind::Message => {
                self.write_header("7bit", output);
                convert(body, Kind::Leaf, self.place.inside(), depth, output)
            }
            Kind::Signed | Kind::Rigid if body.is_ascii() => {
                output.extend_from_slice(self.whole);
                Ok(())
            }
            Kind::Signed => Err(CannotConvert::Signed),
            Kind::Rigid => Err(CannotConvert::Encoding),
            Kind::Leaf => {
                let leaf = leaf::Leaf::new(body);
                self.write_header(leaf.encoding(), output);
                leaf.write(output);
                if leaf.has_lost_its_end() && self.place == Place::Message {
                    output.extend_from_slice(b"\r\n");
                }
                Ok(())
            }
        }
    }

    /// The header with this transfer encoding, in the place of the one that it had.
    fn write_header(&self, encoding: &str, output: &mut Vec<u8>) {
        let line = format!("{ENCODING}: {encoding}\r\n");
        let mut is_written = encoding == "7bit";
        for field in &self.message.fields {
            if field.is(ENCODING) {
                output.extend_from_slice(line.as_bytes());
                is_written = true;
            } else {
                output.extend_from_slice(field.whole);
            }
        }
        if !is_written {
            // Without it readers need not take the message for MIME.
            if self.place != Place::Part && self.message.named("MIME-Version").next().is_none() {
                output.extend_from_slice(b"MIME-Version: 1.0\r\n");
            }
            output.extend_from_slice(line.as_bytes());
        }
        output.extend_from_slice(b"\r\n");
    }
}

impl Kind {
    fn of(message: &Message<'_>, default: Self) -> Result<Self, CannotConvert> {
        let mut fields = message.named("Content-Type");
        let Some(field) = fields.next() else { return Ok(default) };
        // Readers disagree about which one counts.
        if fields.next().is_some() || field.value.len() > MAX_VALUE {
            return Err(CannotConvert::Encoding);
        }
        let line = [&*unfold(field.value), b"\n"].concat();
        let parsed = MessageStream::new(&line).parse_content_type().into_owned();
        let Some(parsed) = parsed.into_content_type() else { return Ok(Self::Leaf) };
        Ok(match (parsed.ctype(), parsed.subtype().unwrap_or_default()) {
            ("multipart", "signed") => Self::Signed,
            ("multipart", subtype) => {
                let parts = if subtype == "digest" { Self::Message } else { Self::Leaf };
                let boundary = boundary(&parsed).ok_or(CannotConvert::NoBoundary)?;
                Self::Multipart(boundary, Box::new(parts))
            }
            ("message", "rfc822") => Self::Message,
            // RFC 6532 section 3.7 lets these be encoded.
            ("message", subtype) if subtype.starts_with("global") => Self::Leaf,
            ("message", _) => Self::Rigid,
            _ => Self::Leaf,
        })
    }
}

fn boundary(content_type: &ContentType<'_>) -> Option<String> {
    content_type.attribute("boundary").filter(|it| !it.is_empty()).map(str::to_owned)
}

impl Encoding {
    fn of(message: &Message<'_>) -> Self {
        let mut fields = message.named(ENCODING);
        let encoding = fields.next().map(|field| field.text().to_ascii_lowercase());
        match encoding.as_deref() {
            _ if fields.next().is_some() => Self::Encoded,
            None | Some("7bit") => Self::SevenBit,
            Some("8bit" | "binary") => Self::EightBit,
            Some(_) => Self::Encoded,
        }
    }
}

impl Place {
    /// The place of a message that is all of the content here.
    fn inside(self) -> Self {
        match self {
            Self::Message => Self::Message,
            Self::Inner | Self::Part => Self::Inner,
        }
    }
}
