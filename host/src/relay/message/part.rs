//! The leaves of a message's tree of parts (RFC 2045, RFC 2046), bounded in depth and number.
//!
//! mail-parser decodes; the tree is taken apart here, in time that grows with the size alone. An
//! attached message is a leaf.

use mail_parser::ContentType;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::parsers::MessageStream;

use crate::mail::field::{InvalidHeader, Message, unfold};

const MAX_DEPTH: usize = 10;
const MAX_LEAVES: usize = 100;
/// Octets of a value with parameters; reading them takes time by the square.
const MAX_VALUE: usize = 4_000;

/// A part that has no parts.
#[derive(Debug)]
pub struct Leaf<'a> {
    message: Message<'a>,
    /// The media type with its parameters.
    content_type: Option<ContentType<'static>>,
    disposition: Option<ContentType<'static>>,
    parent: Parent,
}

/// What a leaf hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    /// `multipart/related`: the HTML beside it refers to it.
    Related,
    /// Another multipart, or nothing.
    Other,
}

/// Why the parts of a message cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPart {
    /// The header of a part.
    #[error("the header of a part is malformed: {0}")]
    Header(#[from] InvalidHeader),
    /// A Content-Type or Content-Disposition longer than any file name makes it.
    #[error("a Content-Type or Content-Disposition is longer than {MAX_VALUE} octets")]
    TooLong,
    /// No boundary parameter, or none of its lines.
    #[error("a multipart body has no boundary lines")]
    NoBoundary,
    /// Parts within parts.
    #[error("parts are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("the message has more than {MAX_LEAVES} parts")]
    TooMany,
    /// A transfer encoding that is unknown, or not what it says.
    #[error("the Content-Transfer-Encoding of a part is unknown or its content is not so encoded")]
    Encoding,
}

/// The leaves of a message, in order.
///
/// # Errors
/// It is no well-formed tree, or exceeds a bound.
pub fn leaves(message: Message<'_>) -> Result<Vec<Leaf<'_>>, InvalidPart> {
    let mut leaves = Vec::new();
    walk(message, Parent::Other, MAX_DEPTH, &mut leaves)?;
    Ok(leaves)
}

impl Leaf<'_> {
    /// The media type without parameters, e.g. `text/plain`.
    pub fn media_type(&self) -> String {
        match &self.content_type {
            None => "text/plain".to_owned(),
            Some(it) => format!("{}/{}", it.ctype(), it.subtype().unwrap_or_default()),
        }
    }

    /// The media type with the parameters that a file needs to be read.
    pub fn full_media_type(&self) -> String {
        let mut full = self.media_type();
        for name in ["charset", "method"] {
            let value = self.content_type.as_ref().and_then(|it| it.attribute(name));
            if let Some(value) = value.filter(|it| it.bytes().all(|it| it.is_ascii_graphic())) {
                full.push_str("; ");
                full.push_str(name);
                full.push('=');
                full.push_str(value);
            }
        }
        full
    }

    /// The name of the file, in either of the two places for it.
    pub fn file_name(&self) -> Option<&str> {
        let disposition = self.disposition.as_ref().and_then(|it| it.attribute("filename"));
        let name = disposition.or_else(|| self.content_type.as_ref()?.attribute("name"))?;
        Some(name.trim()).filter(|name| !name.is_empty())
    }

    /// Whether it says that it is an attachment.
    pub fn is_attachment(&self) -> bool {
        self.disposition.as_ref().is_some_and(ContentType::is_attachment)
    }

    /// What the HTML refers to it by. Programs give one to files too that are only attached, and
    /// call files attached that belong to the HTML; what hangs together tells which is which.
    pub fn content_id(&self) -> Option<String> {
        if self.is_attachment() && self.parent == Parent::Other {
            return None;
        }
        let id = self.message.named("Content-ID").next()?.text();
        let id = id.trim().trim_start_matches('<').trim_end_matches('>').to_owned();
        Some(id).filter(|id| !id.is_empty())
    }

    /// Its octets.
    ///
    /// # Errors
    /// They are not encoded as the part says.
    pub fn content(&self) -> Result<Vec<u8>, InvalidPart> {
        let encoding = self.message.named("Content-Transfer-Encoding").next();
        let encoding = encoding.map(|it| it.text().to_ascii_lowercase()).unwrap_or_default();
        match encoding.as_str() {
            "" | "7bit" | "8bit" | "binary" => Some(self.message.body.to_vec()),
            "base64" => base64_decode(self.message.body),
            "quoted-printable" => quoted_printable_decode(self.message.body),
            _ => None,
        }
        .ok_or(InvalidPart::Encoding)
    }
}

fn walk<'a>(
    message: Message<'a>,
    parent: Parent,
    depth: usize,
    leaves: &mut Vec<Leaf<'a>>,
) -> Result<(), InvalidPart> {
    let content_type = parameters(&message, "Content-Type")?;
    let Some(multipart) = content_type.as_ref().filter(|it| it.ctype() == "multipart") else {
        if leaves.len() == MAX_LEAVES {
            return Err(InvalidPart::TooMany);
        }
        let disposition = parameters(&message, "Content-Disposition")?;
        leaves.push(Leaf { message, content_type, disposition, parent });
        return Ok(());
    };
    let boundary = multipart.attribute("boundary").filter(|it| !it.is_empty());
    let parts = split(message.body, boundary.ok_or(InvalidPart::NoBoundary)?);
    let depth = depth.checked_sub(1).ok_or(InvalidPart::TooDeep)?;
    if parts.is_empty() {
        return Err(InvalidPart::NoBoundary);
    }
    let kind = if multipart.subtype() == Some("related") { Parent::Related } else { Parent::Other };
    for part in parts {
        walk(Message::split(part)?, kind, depth, leaves)?;
    }
    Ok(())
}

/// The parts between boundary lines; the line end before such a line belongs to it. A message that
/// was cut off has no last one.
fn split<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    // The current part and all that follows it.
    let mut part: Option<&[u8]> = None;
    let mut rest = body;
    while !rest.is_empty() && parts.len() <= MAX_LEAVES {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        let delimiter = line
            .strip_prefix(b"--")
            .and_then(|line| line.strip_prefix(boundary.as_bytes()))
            .map(<[u8]>::trim_ascii_end);
        if let Some(b"" | b"--") = delimiter {
            parts.extend(part.take().map(|part| before(part, rest)));
            if delimiter == Some(b"--") {
                return parts;
            }
            part = Some(after);
        }
        rest = after;
    }
    parts.extend(part);
    parts
}

/// `part` up to where `rest` begins, without the line end before it.
fn before<'a>(part: &'a [u8], rest: &[u8]) -> &'a [u8] {
    let part = part.get(..part.len().saturating_sub(rest.len())).unwrap_or(part);
    part.strip_suffix(b"\r\n").unwrap_or(part)
}

fn parameters(
    message: &Message<'_>,
    name: &str,
) -> Result<Option<ContentType<'static>>, InvalidPart> {
    let Some(field) = message.named(name).next() else { return Ok(None) };
    if field.value.len() > MAX_VALUE {
        return Err(InvalidPart::TooLong);
    }
    let line = [&*unfold(field.value), b"\n"].concat();
    Ok(MessageStream::new(&line).parse_content_type().into_owned().into_content_type())
}
