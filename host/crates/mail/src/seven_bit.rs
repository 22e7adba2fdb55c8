//! Re-encodes a message as quoted-printable or base64 for its next hop: to 7-bit for one without 8BITMIME (RFC 6152
//! section 3, the 8BITMIME downgrade), or to lines of at most 998 octets (RFC 5322 section 2.1.1).
//!
//! Only the parts change that must, and of their headers only Content-Transfer-Encoding and, in seven
//! bits, fields that are not ASCII; every other byte stays unchanged and in its place. What a reader
//! decodes is the same before and after.

mod cannot_convert;
mod goal;
mod leaf;
mod parts;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use mail_parser::ContentType;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::parsers::MessageStream;

use super::encoded_header;
use super::field::{Message, unfold};
use cannot_convert::MAX_DEPTH;
use goal::Goal;

pub use cannot_convert::CannotConvert;
pub use goal::{MAX_LINE, has_long_line};

/// Octets of a Content-Type, at most: the parser takes quadratic time.
const MAX_VALUE: usize = 4_000;
const ENCODING: &str = "Content-Transfer-Encoding";

/// Whether a message has octets over 127.
#[must_use]
pub fn is_eight_bit(raw: &[u8]) -> bool {
    !raw.is_ascii()
}

/// The same message without an octet over 127. DKIM-sign after this, not before.
///
/// # Errors
/// The conversion would change the decoded content, or break a signature inside the message.
pub fn to_seven_bit(raw: &[u8]) -> Result<Vec<u8>, CannotConvert> {
    rewrite(raw, Goal::SevenBit)
}

/// The same message with no line over 998 octets; its own header is unchanged.
///
/// # Errors
/// The conversion would change the decoded content, or break a signature inside the message.
pub fn to_short_lines(raw: &[u8]) -> Result<Vec<u8>, CannotConvert> {
    let output = rewrite(raw, Goal::ShortLines)?;
    // What stands between parts, such as a boundary line with blanks behind it.
    if has_long_line(&output) { Err(CannotConvert::Encoding) } else { Ok(output) }
}

fn rewrite(raw: &[u8], goal: Goal) -> Result<Vec<u8>, CannotConvert> {
    let mut output = Vec::with_capacity(raw.len() + raw.len() / 2);
    convert(raw, Kind::Leaf, Place::Message, MAX_DEPTH, goal, &mut output)?;
    Ok(output)
}

/// A header and what it is the header of.
struct Entity<'a> {
    message: Message<'a>,
    /// The lines of each field, as they go on.
    fields: Vec<Cow<'a, [u8]>>,
    goal: Goal,
    kind: Kind,
    place: Place,
    encoding: Encoding,
}

/// What an entity holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A multipart: its boundary, and the default kind of parts without Content-Type (RFC 2046 section 5.1.5).
    Multipart(String, Box<Kind>),
    /// `multipart/signed`.
    Signed,
    /// `message/rfc822`.
    Message,
    /// Any other `message/*`, such as `message/partial` or `message/delivery-status`: may not be re-encoded.
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

/// The Content-Transfer-Encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Absent or `7bit`.
    SevenBit,
    /// `8bit` or `binary`.
    EightBit,
    /// `base64`, `quoted-printable`, unknown, or given more than once.
    Encoded,
}

/// Re-encodes an entity for the goal. Content that already meets the goal is copied, however malformed.
fn convert(
    whole: &[u8],
    default: Kind,
    place: Place,
    depth: usize,
    goal: Goal,
    output: &mut Vec<u8>,
) -> Result<(), CannotConvert> {
    let start = output.len();
    let depth = depth.checked_sub(1).ok_or(CannotConvert::TooDeep);
    let entity = || Entity::new(whole, default, place, goal);
    let written = depth.and_then(|depth| entity()?.write(depth, output));
    if written.is_err() && goal.is_reached(whole) {
        output.truncate(start);
        output.extend_from_slice(whole);
        return Ok(());
    }
    written
}

impl<'a> Entity<'a> {
    fn new(
        whole: &'a [u8],
        default: Kind,
        place: Place,
        goal: Goal,
    ) -> Result<Self, CannotConvert> {
        let message = Message::split(whole)?;
        let fields = message.fields.iter().map(|field| match goal {
            Goal::SevenBit if !field.whole.is_ascii() => {
                // The top-level fields were already encoded at submission where possible.
                let is_own = place == Place::Message;
                let encoded = encoded_header::encode(field).ok().filter(|_| !is_own);
                encoded.map(Cow::Owned).ok_or(CannotConvert::Header)
            }
            Goal::ShortLines if place != Place::Message && has_long_line(field.whole) => {
                Err(CannotConvert::LongHeader)
            }
            Goal::SevenBit | Goal::ShortLines => Ok(Cow::Borrowed(field.whole)),
        });
        let fields = fields.collect::<Result<_, _>>()?;
        let kind = Kind::of(&message, default)?;
        let encoding = Encoding::of(&message);
        Ok(Self { message, fields, goal, kind, place, encoding })
    }

    fn write(&self, depth: usize, output: &mut Vec<u8>) -> Result<(), CannotConvert> {
        let (body, goal) = (self.message.body, self.goal);
        let says_eight_bit = self.encoding == Encoding::EightBit && goal == Goal::SevenBit;
        if goal.is_reached(body) && (!says_eight_bit || body.is_empty()) {
            self.write_as_it_is(output);
            return Ok(());
        }
        if self.encoding == Encoding::Encoded {
            return self.write_encoded_anew(output);
        }
        match &self.kind {
            Kind::Multipart(boundary, parts) => {
                self.write_container_header(output);
                parts::write(body, boundary, goal, output, |part, output| {
                    convert(part, (**parts).clone(), Place::Part, depth, goal, output)
                })
            }
            Kind::Message => {
                self.write_container_header(output);
                convert(body, Kind::Leaf, self.place.inside(), depth, goal, output)
            }
            Kind::Signed | Kind::Rigid if goal.is_reached(body) => {
                self.write_as_it_is(output);
                Ok(())
            }
            Kind::Signed => Err(CannotConvert::Signed),
            Kind::Rigid => Err(CannotConvert::Encoding),
            Kind::Leaf => {
                self.write_leaf(&leaf::Leaf::new(body), output);
                Ok(())
            }
        }
    }

    fn write_as_it_is(&self, output: &mut Vec<u8>) {
        for field in &self.fields {
            output.extend_from_slice(field);
        }
        output.extend_from_slice(self.message.tail);
    }

    fn write_leaf(&self, leaf: &leaf::Leaf<'_>, output: &mut Vec<u8>) {
        self.write_header(leaf.encoding(), output);
        leaf.write(output);
        if leaf.lacks_final_crlf() && self.place == Place::Message {
            output.extend_from_slice(b"\r\n");
        }
    }

    /// Wraps base64 or quoted-printable content that has over-long lines. For the 7-bit goal it fails: octets over 127
    /// are not valid in such a part.
    fn write_encoded_anew(&self, output: &mut Vec<u8>) -> Result<(), CannotConvert> {
        let body = self.message.body;
        if self.goal == Goal::SevenBit || self.kind != Kind::Leaf {
            return Err(CannotConvert::Encoding);
        }
        let mut encodings = self.message.named(ENCODING);
        let encoding = encodings.next().map(|field| field.text().to_ascii_lowercase());
        let decoded = match (encoding.as_deref(), encodings.next()) {
            (Some("base64"), None) => base64_decode(body).map(leaf::Leaf::base64),
            (Some("quoted-printable"), None) => quoted_printable_decode(body).map(leaf::Leaf::new),
            _ => None,
        };
        self.write_leaf(&decoded.ok_or(CannotConvert::Encoding)?, output);
        Ok(())
    }

    /// The header of what holds parts: in seven bits they all are; otherwise its own encoding is kept.
    fn write_container_header(&self, output: &mut Vec<u8>) {
        match self.goal {
            Goal::SevenBit => self.write_header("7bit", output),
            Goal::ShortLines => {
                for field in &self.fields {
                    output.extend_from_slice(field);
                }
                output.extend_from_slice(b"\r\n");
            }
        }
    }

    /// The header with this transfer encoding, in the place of the one that it had.
    fn write_header(&self, encoding: &str, output: &mut Vec<u8>) {
        let line = format!("{ENCODING}: {encoding}\r\n");
        let mut is_written = encoding == "7bit";
        for (field, lines) in self.message.fields.iter().zip(&self.fields) {
            if field.is(ENCODING) {
                output.extend_from_slice(line.as_bytes());
                is_written = true;
            } else {
                output.extend_from_slice(lines);
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
