//! A MIME leaf part, re-encoded to ASCII by the estimated shortest encoding (7bit, quoted-printable, base64; RFC 2045
//! section 6).

use std::borrow::Cow;

use mail_builder::encoders::{Base64Encoder, QuotedPrintableEncoder};

use super::goal::has_long_line;

/// Content and its encoding.
pub(super) struct Leaf<'a> {
    content: Cow<'a, [u8]>,
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    SevenBit,
    QuotedPrintable,
    Base64,
}

impl<'a> Leaf<'a> {
    pub fn new(content: impl Into<Cow<'a, [u8]>>) -> Self {
        let content = content.into();
        let escapes = content.iter().filter(|byte| **byte >= 127 || **byte == b'=').count();
        let quoted_printable = content.len() + 2 * escapes;
        let base64 = content.len().div_ceil(3) * 4;
        let encoding = if is_plain(&content) {
            Encoding::SevenBit
        } else if is_text(&content) && quoted_printable <= base64 {
            Encoding::QuotedPrintable
        } else {
            Encoding::Base64
        };
        Self { content, encoding }
    }

    /// Content that was base64 before stays so: its octets need not end with a line end.
    pub fn base64(content: Vec<u8>) -> Self {
        Self { content: Cow::Owned(content), encoding: Encoding::Base64 }
    }

    /// The value of Content-Transfer-Encoding.
    pub fn encoding(&self) -> &'static str {
        match self.encoding {
            Encoding::SevenBit => "7bit",
            Encoding::QuotedPrintable => "quoted-printable",
            Encoding::Base64 => "base64",
        }
    }

    /// Whether the written form does not end in CRLF (base64).
    pub fn lacks_final_crlf(&self) -> bool {
        self.encoding == Encoding::Base64
    }

    pub fn write(&self, output: &mut Vec<u8>) {
        match self.encoding {
            Encoding::SevenBit => output.extend_from_slice(&self.content),
            Encoding::QuotedPrintable => {
                // The encoder wants line feeds, and there is no CR without one.
                let lines = self.content.iter().copied().filter(|byte| *byte != b'\r');
                let lines: Vec<u8> = lines.collect();
                QuotedPrintableEncoder::new().preserve_line_breaks().encode_into(&lines, output);
            }
            Encoding::Base64 => {
                Base64Encoder::new().wrap_lines().encode_into(&self.content, output);
                if output.ends_with(b"\r\n") {
                    output.truncate(output.len() - 2);
                }
            }
        }
    }
}

/// Whether 7bit can hold it: ASCII, no NUL, no long line.
fn is_plain(content: &[u8]) -> bool {
    content.is_ascii() && !content.contains(&0) && !has_long_line(content)
}

/// Whether quoted-printable holds it: line ends are CRLF, and there are no further control octets.
fn is_text(content: &[u8]) -> bool {
    let is_bare = |(index, byte): (usize, &u8)| match byte {
        b'\r' => content.get(index + 1) != Some(&b'\n'),
        b'\n' => index == 0 || content.get(index - 1) != Some(&b'\r'),
        b'\t' | b' '.. => false,
        _ => true,
    };
    !content.iter().enumerate().any(is_bare)
}
