//! A bounded MIME parser for bounces and feedback reports: header fields and decoded leaf parts.
//!
//! Reports come from anybody, so the depth and the number of parts are bounded, and of the
//! original message that a report encloses only the header is read: a parser of whole trees can be led into any depth.

use std::borrow::Cow;

use mail_parser::MessageParser;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;

/// Multiparts inside each other, at most.
const MAX_DEPTH: usize = 4;
/// Leaves that are read, at most; the others are ignored.
const MAX_LEAVES: usize = 50;
/// Fields of one header, at most; the others are ignored.
const MAX_FIELDS: usize = 500;

/// A field of a header, or of a report, unfolded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name in lower case.
    pub name: String,
    /// Its value, with single spaces where it was folded.
    pub value: String,
}

/// Fields in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<Field>);

/// A part that has no parts.
#[derive(Debug)]
pub struct Leaf<'a> {
    /// Type and subtype in lower case. Default: `text/plain`.
    pub media_type: String,
    charset: Option<String>,
    body: Cow<'a, [u8]>,
}

#[derive(Debug)]
pub struct ReportMessage<'a> {
    /// The message's own header.
    pub header: Fields,
    /// The media type of the whole.
    pub media_type: String,
    /// Its leaves, in order.
    pub leaves: Vec<Leaf<'a>>,
}

impl<'a> ReportMessage<'a> {
    pub fn of(raw: &'a [u8]) -> Self {
        let (header, body) = Fields::split(raw);
        let media_type = MediaType::of(&header);
        let mut leaves = Vec::new();
        collect(&header, body, MAX_DEPTH, &mut leaves);
        Self { header, media_type: media_type.name, leaves }
    }

    pub fn leaf(&self, media_type: &str) -> Option<&Leaf<'a>> {
        self.leaves.iter().find(|it| it.media_type == media_type)
    }

    /// The subject, decoded.
    pub fn subject(&self) -> String {
        let Some(subject) = self.header.value("subject") else { return String::new() };
        let field = format!("Subject: {subject}\r\n\r\n");
        let read = MessageParser::new().parse_headers(&field);
        read.and_then(|it| it.subject().map(str::to_owned)).unwrap_or_default()
    }

    /// The text for people: the first leaf of plain text.
    pub fn text(&self) -> String {
        let plain = |it: &&Leaf<'_>| it.media_type == "text/plain";
        self.leaves.iter().find(plain).map(Leaf::text).unwrap_or_default()
    }

    /// The header fields of the original message (RFC 3464), which the report is about.
    pub fn original_fields(&self) -> Option<Fields> {
        Some(Fields::split(&self.original()?.body).0)
    }

    /// The same header in octets, its lines ending in CRLF; empty if none is enclosed.
    pub fn original_header_bytes(&self) -> Vec<u8> {
        let mut rest = self.original().map_or(&[][..], |leaf| &leaf.body);
        let mut header = Vec::new();
        while !rest.is_empty() {
            let (line, after) = line(rest);
            if line.trim_ascii().is_empty() {
                break;
            }
            header.extend_from_slice(line);
            header.extend_from_slice(b"\r\n");
            rest = after;
        }
        header
    }

    fn original(&self) -> Option<&Leaf<'a>> {
        const ENCLOSED: [&str; 5] = [
            "message/rfc822",
            "message/global",
            "text/rfc822-headers",
            "message/global-headers",
            "message/rfc822-headers",
        ];
        self.leaves.iter().find(|it| ENCLOSED.contains(&it.media_type.as_str()))
    }
}

impl Leaf<'_> {
    /// Its text, by its charset.
    pub fn text(&self) -> String {
        let decoder = self.charset.as_ref().and_then(|it| charset_decoder(it.as_bytes()));
        match (decoder, str::from_utf8(&self.body)) {
            (_, Ok(text)) if self.body.is_ascii() => text.to_owned(),
            (Some(decode), _) => decode(&self.body),
            (None, _) => String::from_utf8_lossy(&self.body).into_owned(),
        }
    }

    pub fn octets(&self) -> &[u8] {
        &self.body
    }
}

impl Fields {
    /// Reads fields up to an empty line, and returns what follows that. A line that is no field is skipped, since half
    /// a header is better than none; a continuation of a skipped line is appended to the field before it.
    pub fn split(octets: &[u8]) -> (Self, &[u8]) {
        let mut fields: Vec<Field> = Vec::new();
        let mut rest = octets;
        while !rest.is_empty() {
            let (line, after) = line(rest);
            rest = after;
            if line.trim_ascii().is_empty() {
                break;
            }
            let text = String::from_utf8_lossy(line);
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                if let Some(field) = fields.last_mut() {
                    field.value.push(' ');
                    field.value.push_str(text.trim());
                }
            } else if let Some((name, value)) = text.split_once(':')
                && fields.len() < MAX_FIELDS
                && is_name(name.trim_end())
            {
                let (name, value) = (name.trim_end().to_ascii_lowercase(), value.trim().to_owned());
                fields.push(Field { name, value });
            }
        }
        (Self(fields), rest)
    }

    /// The value of the first field of that name, which is in lower case.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|it| it.name == name).map(|it| it.value.as_str())
    }

    pub fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b str> {
        self.0.iter().filter(move |it| it.name == name).map(|it| it.value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }
}

impl FromIterator<Field> for Fields {
    fn from_iter<T: IntoIterator<Item = Field>>(fields: T) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// A line without its end, CRLF or LF, and what follows.
pub fn line(octets: &[u8]) -> (&[u8], &[u8]) {
    let end = octets.iter().position(|it| *it == b'\n').map_or(octets.len(), |at| at + 1);
    let (line, rest) = octets.split_at_checked(end).unwrap_or((octets, b""));
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// The members of a Content-Type that are needed here.
struct MediaType {
    name: String,
    boundary: Option<String>,
    charset: Option<String>,
}

impl MediaType {
    fn of(header: &Fields) -> Self {
        let value = header.value("content-type").unwrap_or_default();
        let mut pieces = semicolons(value).into_iter();
        let name = pieces.next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut read = Self {
            name: if name.contains('/') { name } else { "text/plain".to_owned() },
            boundary: None,
            charset: None,
        };
        for (name, value) in pieces.filter_map(|it| it.split_once('=')) {
            let value = value.trim();
            let inside = value.strip_prefix('"').map(|it| it.strip_suffix('"').unwrap_or(it));
            let value = inside.map_or_else(|| value.to_owned(), |it| it.replace('\\', ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "boundary" if !value.is_empty() => read.boundary = Some(value),
                "charset" => read.charset = Some(value),
                _ => {}
            }
        }
        read
    }
}

/// Splits at semicolons outside quotes.
fn semicolons(value: &str) -> Vec<&str> {
    let mut quoted = false;
    value
        .split(|c| {
            quoted ^= c == '"';
            c == ';' && !quoted
        })
        .collect()
}

fn collect<'a>(header: &Fields, body: &'a [u8], depth: usize, leaves: &mut Vec<Leaf<'a>>) {
    let MediaType { name, boundary, charset } = MediaType::of(header);
    if leaves.len() >= MAX_LEAVES {
        return;
    }
    if let (true, Some(boundary), Some(deeper)) =
        (name.starts_with("multipart/"), boundary, depth.checked_sub(1))
    {
        for part in between(body, boundary.as_bytes()) {
            let (header, body) = Fields::split(part);
            collect(&header, body, deeper, leaves);
        }
        return;
    }
    let encoding = header.value("content-transfer-encoding").unwrap_or_default();
    let decoded = match encoding.to_ascii_lowercase().as_str() {
        "base64" => base64_decode(body.trim_ascii()),
        "quoted-printable" => quoted_printable_decode(body),
        _ => None,
    };
    let body = decoded.map_or(Cow::Borrowed(body), Cow::Owned);
    leaves.push(Leaf { media_type: name, charset, body });
}

/// The parts between the lines `--boundary`; the last one may lack its end.
fn between<'a>(body: &'a [u8], boundary: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let (mut rest, mut start, mut at) = (body, None, 0);
    let part = |from: usize, to: usize| body.get(from..to).unwrap_or_default();
    while !rest.is_empty() && parts.len() < MAX_LEAVES {
        let (text, after) = line(rest);
        let marked = text.strip_prefix(b"--").and_then(|it| it.strip_prefix(boundary));
        if let Some(end) =
            marked.map(<[u8]>::trim_ascii_end).filter(|it| matches!(*it, b"" | b"--"))
        {
            parts.extend(start.map(|from| part(from, at)));
            start = (end.is_empty()).then_some(body.len() - after.len());
        }
        at += rest.len() - after.len();
        rest = after;
    }
    parts.extend(start.map(|from| part(from, body.len())));
    parts
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic())
}
