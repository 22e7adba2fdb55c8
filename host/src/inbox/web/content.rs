//! Parses a stored message into its texts, header fields and attachments.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};
use serde::Serialize;

use crate::inbox::store::{StoredMessage, Summary};
use crate::message::line::printable;

/// Words `multipart` in a message whose parts are shown, at most.
const MAX_MULTIPARTS: usize = 50;

/// A message, taken apart. A message that no parser understands has no parts.
#[derive(Debug, Default)]
pub struct Content {
    /// The From header, with display names.
    pub from: Option<String>,
    /// The To header, with display names.
    pub to: Option<String>,
    /// The Cc header, with display names.
    pub cc: Option<String>,
    /// The Reply-To header, with display names.
    pub reply_to: Option<String>,
    pub text: Option<String>,
    /// Its HTML, as the sender wrote it.
    pub html: Option<String>,
    /// The header's fields in order, unfolded and otherwise as written.
    pub headers: Vec<(String, String)>,
    /// The parts that are neither.
    pub attachments: Vec<Attachment>,
}

/// A part to save or to show.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// What the sender calls it, or `attachment-<n>`.
    pub filename: String,
    pub content_type: String,
    /// How many bytes it has, decoded.
    pub size: usize,
}

/// A message as JSON. It is part of the contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageJson<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    envelope_from: &'a str,
    text: Option<&'a str>,
    html: Option<&'a str>,
    headers: &'a [(String, String)],
    attachments: &'a [Attachment],
    raw: String,
}

impl<'a> MessageJson<'a> {
    /// All that is known of a message.
    pub fn new(stored: &'a StoredMessage, content: &'a Content) -> Self {
        Self {
            summary: &stored.summary,
            envelope_from: &stored.return_path,
            text: content.text.as_deref(),
            html: content.html.as_deref(),
            headers: &content.headers,
            attachments: &content.attachments,
            raw: format!("/inbox/{}/raw", stored.summary.id),
        }
    }
}

impl Content {
    /// Takes a message apart.
    pub fn of(raw: &[u8]) -> Self {
        let Some(message) = parsed(raw) else { return Self::default() };
        Self {
            from: message.from().map(mailboxes),
            to: message.to().map(mailboxes),
            cc: message.cc().map(mailboxes),
            reply_to: message.reply_to().map(mailboxes),
            text: plain_text(&message),
            html: html_text(&message),
            headers: headers(&message),
            attachments: message.attachments().enumerate().map(Attachment::of).collect(),
        }
    }
}

impl Attachment {
    /// Describes the part that stands at `number` among the attachments.
    pub fn of((number, part): (usize, &MessagePart<'_>)) -> Self {
        let content_type = part.content_type().map(|it| match it.subtype() {
            Some(subtype) => format!("{}/{subtype}", it.ctype()),
            None => it.ctype().to_owned(),
        });
        Self {
            filename: part
                .attachment_name()
                .map_or_else(|| format!("attachment-{}", number + 1), str::to_owned),
            content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            size: part.contents().len(),
        }
    }
}

/// A message with its parts; of one that holds messages, or very many parts, only the header is
/// read: mail-parser's tree of those grows without bound, and takes the process with it.
pub fn parsed(raw: &[u8]) -> Option<Message<'_>> {
    let parser = MessageParser::default();
    if overwhelms_the_parser(raw) { parser.parse_headers(raw) } else { parser.parse(raw) }
}

fn overwhelms_the_parser(raw: &[u8]) -> bool {
    let lower = raw.to_ascii_lowercase();
    let count = |word: &[u8]| lower.windows(word.len()).filter(|it| it == &word).count();
    let holds_messages =
        [&b"message/"[..], b"rfc822", b"digest"].into_iter().any(|it| count(it) > 0);
    holds_messages || count(b"multipart") > MAX_MULTIPARTS
}

/// The HTML of a message, where the sender wrote any.
pub fn html_text(message: &Message<'_>) -> Option<String> {
    joined(message.html_bodies().filter_map(|part| {
        if let PartType::Html(html) = &part.body { Some(html.as_ref()) } else { None }
    }))
}

/// The plain text of a message; none is made up from the HTML.
fn plain_text(message: &Message<'_>) -> Option<String> {
    joined(message.text_bodies().filter_map(|part| {
        if let PartType::Text(text) = &part.body { Some(text.as_ref()) } else { None }
    }))
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let texts: Vec<&str> = texts.collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

fn headers(message: &Message<'_>) -> Vec<(String, String)> {
    let raw = message.raw_message.as_ref();
    let between = |start: u32, end: u32| {
        let bytes = raw.get(start as usize..end as usize).unwrap_or_default();
        String::from_utf8_lossy(bytes).replace(['\r', '\n'], "")
    };
    message
        .headers()
        .iter()
        .map(|header| {
            let name = between(header.offset_field(), header.offset_start());
            let value = between(header.offset_start(), header.offset_end());
            (name.trim_end_matches([':', ' ', '\t']).to_owned(), value.trim().to_owned())
        })
        .collect()
}

fn mailboxes(addresses: &Address<'_>) -> String {
    let mailbox = |name: Option<&str>, address: Option<&str>| match (name, address) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (one, other) => one.or(other).unwrap_or_default().to_owned(),
    };
    let each = addresses.iter().map(|it| mailbox(it.name(), it.address()));
    // A stranger may have written the names.
    printable(&each.collect::<Vec<_>>().join(", "))
}
