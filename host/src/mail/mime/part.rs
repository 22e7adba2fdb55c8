//! The tree of MIME parts and its boundaries (RFC 2046 section 5.1, RFC 2387).

use sha2::{Digest, Sha256};

use super::attachment::{Attached, Disposition};
use super::body::Body;

/// A part with everything below it.
pub(super) enum Part<'a> {
    Body(Body<'a>),
    Attached(Disposition, Attached<'a>),
    Multi(Multipart, Vec<Part<'a>>),
}

/// The kinds of multipart; each stands at most once in a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Multipart {
    Mixed,
    Alternative,
    Related,
}

/// The boundaries of one message.
///
/// They start with `=_`, which neither quoted-printable nor base64 output can hold (RFC 2045
/// section 6.7) and no 7bit body here does, so none is ever contained in a body.
pub(super) struct Boundaries(String);

impl Boundaries {
    /// The same for the same Message-ID; a digest, so that they tell nothing further.
    pub(super) fn new(message_id: &str) -> Self {
        let digest = Sha256::digest(message_id.as_bytes());
        let stem = digest.iter().take(12).fold(0, |stem: u128, byte| stem << 8 | u128::from(*byte));
        Self(format!("{stem:024x}"))
    }

    fn of(&self, kind: Multipart) -> String {
        let letter = match kind {
            Multipart::Mixed => 'm',
            Multipart::Alternative => 'a',
            Multipart::Related => 'r',
        };
        format!("=_{letter}{}", self.0)
    }
}

impl Multipart {
    /// The parts as one: itself, if there is only one.
    pub(super) fn around(self, mut parts: Vec<Part<'_>>) -> Part<'_> {
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Part::Multi(self, parts)
            }
        }
    }

    /// The media type up to where the boundary goes.
    fn media_type(self) -> &'static str {
        match self {
            Self::Mixed => "multipart/mixed; ",
            Self::Alternative => "multipart/alternative; ",
            // RFC 2387 section 3.1 wants the type of the root; the root is always the HTML.
            Self::Related => "multipart/related; type=\"text/html\";\r\n ",
        }
    }
}

impl Part<'_> {
    /// Octets that this part will take, rather too many than too few.
    pub(super) fn estimated_len(&self) -> usize {
        match self {
            Self::Body(body) => body.estimated_len(),
            Self::Attached(_, attached) => attached.estimated_len(),
            Self::Multi(_, parts) => parts.iter().map(|part| part.estimated_len() + 64).sum(),
        }
    }

    /// Writes headers and content; whoever called has ended the line before.
    pub(super) fn write(&self, boundaries: &Boundaries, output: &mut Vec<u8>) {
        match self {
            Self::Body(body) => body.write(output),
            Self::Attached(disposition, attached) => attached.write(*disposition, output),
            Self::Multi(kind, parts) => {
                let boundary = boundaries.of(*kind);
                output.extend_from_slice(b"Content-Type: ");
                output.extend_from_slice(kind.media_type().as_bytes());
                output.extend_from_slice(b"boundary=\"");
                output.extend_from_slice(boundary.as_bytes());
                output.extend_from_slice(b"\"\r\n");
                // The line break before a delimiter belongs to the delimiter (RFC 2046 section
                // 5.1.1); the first one is also the empty line that ends the headers.
                for part in parts {
                    delimit(&boundary, b"\r\n", output);
                    part.write(boundaries, output);
                }
                delimit(&boundary, b"--\r\n", output);
            }
        }
    }
}

fn delimit(boundary: &str, end: &[u8], output: &mut Vec<u8>) {
    output.extend_from_slice(b"\r\n--");
    output.extend_from_slice(boundary.as_bytes());
    output.extend_from_slice(end);
}
