//! Text bodies and their transfer encodings (RFC 2045 section 6).
//!
//! mail-builder has the encoders, but its choice among them passes NUL, bare CR and other control
//! characters through as 7bit, and its base64 keeps bare line feeds, where RFC 2045 section 6.8
//! wants CRLF; so the text is cleaned and the choice made here.

use std::borrow::Cow;

use mail_builder::encoders::{Base64Encoder, QuotedPrintableEncoder};

/// Octets of a line that is sent as it is. SMTP allows 998; sendmail and qmail break lines of over 990, which breaks
/// the signature (`decisions/0060`).
const MAX_PLAIN_LINE: usize = 900;
/// Bytes whose number fits into a byte, and that are whole vectors.
const SURVEYED_TOGETHER: usize = 192;

/// One text in its transfer encoding to be.
pub(super) struct Body<'a> {
    content_type: &'static str,
    /// With line feeds for line breaks.
    text: Cow<'a, str>,
    encoding: Encoding,
    encoded_len: usize,
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    SevenBit,
    QuotedPrintable,
    Base64,
}

impl<'a> Body<'a> {
    pub(super) fn plain(text: &'a str) -> Self {
        Self::new("Content-Type: text/plain; charset=utf-8\r\n", text)
    }

    pub(super) fn html(html: &'a str) -> Self {
        Self::new("Content-Type: text/html; charset=utf-8\r\n", html)
    }

    fn new(content_type: &'static str, text: &'a str) -> Self {
        let (text, survey) = clean(text, Survey::of(text));
        let (encoding, encoded_len) = choose(&text, survey);
        Self { content_type, text, encoding, encoded_len }
    }

    pub(super) fn estimated_len(&self) -> usize {
        self.encoded_len + 128
    }

    pub(super) fn write(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(self.content_type.as_bytes());
        output.extend_from_slice(match self.encoding {
            Encoding::SevenBit => b"Content-Transfer-Encoding: 7bit\r\n\r\n".as_slice(),
            Encoding::QuotedPrintable => b"Content-Transfer-Encoding: quoted-printable\r\n\r\n",
            Encoding::Base64 => b"Content-Transfer-Encoding: base64\r\n\r\n",
        });
        match self.encoding {
            Encoding::SevenBit => write_lines(&self.text, output),
            Encoding::QuotedPrintable => {
                let encoder = QuotedPrintableEncoder::new().preserve_line_breaks();
                encoder.encode_into(self.text.as_bytes(), output);
            }
            Encoding::Base64 => write_base64(self.text.replace('\n', "\r\n").as_bytes(), output),
        }
    }
}

/// Writes base64 in lines of 76, without a line break at the end.
pub(super) fn write_base64(content: &[u8], output: &mut Vec<u8>) {
    Base64Encoder::new().wrap_lines().encode_into(content, output);
    if !content.is_empty() && output.ends_with(b"\r\n") {
        output.truncate(output.len() - 2);
    }
}

/// The octets that base64 of `len` octets takes.
pub(super) fn base64_len(len: usize) -> usize {
    len.div_ceil(57) * 78
}

fn write_lines(text: &str, output: &mut Vec<u8>) {
    let mut lines = text.split('\n');
    output.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
    for line in lines {
        output.extend_from_slice(b"\r\n");
        output.extend_from_slice(line.as_bytes());
    }
}

/// What one look at all bytes of a text finds.
#[derive(Debug, Clone, Copy)]
struct Survey {
    /// Control characters other than tabs and line feeds.
    has_unwanted: bool,
    /// Bytes that quoted-printable writes as three, without those that end lines.
    escapes: usize,
    is_ascii: bool,
}

impl Survey {
    fn of(text: &str) -> Self {
        let (mut unwanted, mut seen, mut escapes) = (0, 0, 0);
        // Without branches, and with counts of one byte: this way the compiler makes vector code of it.
        for chunk in text.as_bytes().chunks(SURVEYED_TOGETHER) {
            let mut counted = 0;
            for byte in chunk {
                let is_kept = u8::from(*byte == b'\t') | u8::from(*byte == b'\n');
                unwanted |= u8::from(*byte < b' ') & !is_kept | u8::from(*byte == 0x7f);
                counted += u8::from(!byte.is_ascii()) | u8::from(*byte == b'=');
                seen |= *byte;
            }
            escapes += usize::from(counted);
        }
        Self { has_unwanted: unwanted != 0, escapes, is_ascii: seen < 0x80 }
    }
}

/// Line feeds for all line breaks, and no control characters but those and tabs.
fn clean(text: &str, survey: Survey) -> (Cow<'_, str>, Survey) {
    if !survey.has_unwanted {
        return (Cow::Borrowed(text), survey);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\t' | '\n' => clean.push(c),
            c if c.is_ascii_control() => {}
            c => clean.push(c),
        }
    }
    let survey = Survey::of(&clean);
    (Cow::Owned(clean), survey)
}

/// The encoding that fits, and about how long it gets.
fn choose(text: &str, Survey { escapes, is_ascii, .. }: Survey) -> (Encoding, usize) {
    let plain_line = |line: &str| line.len() <= MAX_PLAIN_LINE && !line.ends_with([' ', '\t']);
    // `=_` starts every boundary: such a text is encoded, so that it cannot hold one.
    if is_ascii && text.split('\n').all(plain_line) && !text.contains("=_") {
        return (Encoding::SevenBit, text.len() + text.len() / 16);
    }
    let quoted_printable = text.len() + 2 * escapes;
    let base64 = text.len().div_ceil(3) * 4;
    if quoted_printable <= base64 {
        (Encoding::QuotedPrintable, quoted_printable + quoted_printable / 12)
    } else {
        (Encoding::Base64, base64_len(text.len() + text.len() / 16))
    }
}
