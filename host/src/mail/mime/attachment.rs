//! Attachments: their media type, their name in two spellings (RFC 2183, RFC 2231), base64.
//!
//! Text files too are base64: their octets arrive unchanged, line ends included. The ASCII
//! fallback of a name is the `name` of the Content-Type; `filename` beside `filename*` would be a
//! duplicate parameter, which RFC 6266 allows in HTTP and no rule allows in mail.

use std::borrow::Cow;

use mail_builder::headers::Header;
use mail_builder::headers::content_type::ContentType;

use super::body::{base64_len, write_base64};
use super::header;

/// One file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name to save it under; characters that are dangerous in file names are replaced.
    pub filename: String,
    /// The media type; `application/octet-stream` stands in for one that is malformed or composite.
    pub content_type: String,
    pub content: Vec<u8>,
    /// What the HTML body calls it by in `cid:` URLs; makes it inline.
    pub content_id: Option<String>,
}

const MAX_FILENAME: usize = 120;
const MAX_EXTENSION: usize = 16;
const MAX_TYPE: usize = 127;

/// An attachment with its checked names.
pub(super) struct Attached<'a> {
    attachment: &'a Attachment,
    content_id: Option<String>,
}

/// How a file is presented (RFC 2183 section 2).
#[derive(Debug, Clone, Copy)]
pub(super) enum Disposition {
    Inline,
    Attachment,
}

impl<'a> Attached<'a> {
    pub(super) fn new(attachment: &'a Attachment) -> Self {
        let content_id = attachment
            .content_id
            .as_deref()
            .map(header::clean_identifier)
            .filter(|id| !id.is_empty());
        Self { attachment, content_id }
    }

    /// Whether an HTML body can refer to it.
    pub(super) fn has_content_id(&self) -> bool {
        self.content_id.is_some()
    }

    pub(super) fn estimated_len(&self) -> usize {
        base64_len(self.attachment.content.len()) + 256 + 6 * self.attachment.filename.len()
    }

    pub(super) fn write(&self, disposition: Disposition, output: &mut Vec<u8>) {
        let filename = clean_filename(&self.attachment.filename);
        let mut media_type = media_type(&self.attachment.content_type);
        media_type.attributes.push(("name".into(), ascii_fallback(&filename)));
        header("Content-Type", &media_type, output);
        output.extend_from_slice(b"Content-Transfer-Encoding: base64\r\n");
        let disposition = ContentType::new(match disposition {
            Disposition::Inline => "inline",
            Disposition::Attachment => "attachment",
        });
        header("Content-Disposition", &disposition.attribute("filename", filename), output);
        if let Some(id) = &self.content_id {
            header::identifier("Content-ID", id, output);
        }
        output.extend_from_slice(b"\r\n");
        write_base64(&self.attachment.content, output);
    }
}

fn header(name: &str, value: &ContentType<'_>, output: &mut Vec<u8>) {
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b": ");
    value.write_header(output, name.len() + 2);
}

/// The media type, or the one that promises nothing.
fn media_type(text: &str) -> ContentType<'_> {
    parse_media_type(text).unwrap_or_else(|| ContentType::new("application/octet-stream"))
}

/// RFC 2045 section 5.1. `multipart` and `message` types are refused: they must not be base64.
/// A quoted `;`, `"` or `\` in a parameter is refused too; nothing of use has them.
fn parse_media_type(text: &str) -> Option<ContentType<'_>> {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let essence = essence.trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let composite = matches!(kind, "multipart" | "message");
    if composite || !is_name(kind) || !is_name(subtype) || essence.len() > MAX_TYPE {
        return None;
    }
    let mut parsed = ContentType::new(essence);
    for parameter in parameters.split(';').map(str::trim).filter(|it| !it.is_empty()) {
        let (key, value) = parameter.split_once('=')?;
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        let value = value.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value);
        let printable = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if !is_name(&key) || value.len() > MAX_TYPE || !value.bytes().all(printable) {
            return None;
        }
        let known = parsed.attributes.iter().any(|(other, _)| *other == key);
        if !known && key != "name" {
            parsed.attributes.push((key.into(), value.into()));
        }
    }
    Some(parsed)
}

/// `restricted-name` of RFC 6838 section 4.2, a subset of RFC 2045's tokens.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}

/// One path segment that no usual file system or shell trips over, at most 120 characters long.
fn clean_filename(name: &str) -> String {
    let name: String = header::clean(name)
        .chars()
        .filter(|&c| !is_direction(c))
        .map(|c| if r#"/\:*?"<>|"#.contains(c) || c.is_control() { '_' } else { c })
        .collect();
    let name = name.trim().trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return "attachment".to_owned();
    }
    let extension = name
        .rfind('.')
        .and_then(|dot| name.get(dot..))
        .filter(|extension| extension.chars().count() <= MAX_EXTENSION);
    let stem = name.strip_suffix(extension.unwrap_or_default()).unwrap_or(name);
    let room = MAX_FILENAME - extension.unwrap_or_default().chars().count();
    stem.chars().take(room).chain(extension.unwrap_or_default().chars()).collect()
}

/// Bidirectional controls can make `exe.pdf` of `fdp.exe`.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `_` for every run of characters outside ASCII.
fn ascii_fallback(name: &str) -> Cow<'static, str> {
    let mut fallback = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii() {
            fallback.push(c);
        } else if !fallback.ends_with('_') {
            fallback.push('_');
        }
    }
    fallback.into()
}
