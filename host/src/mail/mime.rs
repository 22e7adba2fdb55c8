//! Composes one outgoing message: RFC 5322 headers around a MIME body (RFC 2045 to 2049).
//!
//! The result has CRLF line ends only, no line over 998 octets, no NUL, and no octet over 127
//! except in addresses whose local part is not ASCII (RFC 6532). It is a pure function of its
//! input. mail-builder writes headers and transfer encodings; decision 0030 says why the tree of parts is written here.

mod attachment;
mod body;
mod header;
mod part;

#[cfg(test)]
mod tests;

use crate::clock::Timestamp;
use crate::message::address::EmailAddress;

pub use attachment::Attachment;
use attachment::{Attached, Disposition};
use body::Body;
use part::{Boundaries, Multipart, Part};

/// Everything that goes into one message for one recipient.
///
/// Texts are normalised: in names, the subject and header values, control characters and line
/// breaks become spaces, runs of spaces become one and outer ones go; in bodies, every line break
/// becomes CRLF and control characters other than tab are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The Message-ID without its angle brackets; boundaries derive from it.
    pub message_id: &'a str,
    pub date: Timestamp,
    /// The display name of the sender.
    pub from_name: Option<&'a str>,
    pub from: &'a EmailAddress,
    /// The one recipient.
    pub to: &'a EmailAddress,
    /// Where replies go, if not to the sender.
    pub reply_to: Option<&'a EmailAddress>,
    pub subject: &'a str,
    /// The plain text body.
    pub text: Option<&'a str>,
    pub html: Option<&'a str>,
    /// Files, in order.
    pub attachments: &'a [Attachment],
    /// Further headers, from a list that the caller has checked. Names that are malformed, or
    /// that this module or the envelope decides (`From`, `Bcc`, `Content-…`), are left out.
    pub headers: &'a [(String, String)],
}

#[must_use]
pub fn compose(outgoing: &Outgoing<'_>) -> Vec<u8> {
    let root = tree(outgoing);
    let headers: usize =
        outgoing.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let mut output =
        Vec::with_capacity(768 + 3 * outgoing.subject.len() + 2 * headers + root.estimated_len());
    header::date(outgoing.date, &mut output);
    header::mailbox("From", outgoing.from_name, outgoing.from, &mut output);
    if let Some(reply_to) = outgoing.reply_to {
        header::mailbox("Reply-To", None, reply_to, &mut output);
    }
    header::mailbox("To", None, outgoing.to, &mut output);
    header::unstructured("Subject", outgoing.subject, &mut output);
    header::identifier("Message-ID", &header::clean_identifier(outgoing.message_id), &mut output);
    for (name, value) in outgoing.headers {
        if header::may_be_added(name) {
            header::unstructured(name, value, &mut output);
        }
    }
    output.extend_from_slice(b"MIME-Version: 1.0\r\n");
    root.write(&Boundaries::new(outgoing.message_id), &mut output);
    if !output.ends_with(b"\r\n") {
        output.extend_from_slice(b"\r\n");
    }
    output
}

/// `mixed(alternative(text, related(html, inline files)), other files)`, without the levels that
/// would have a single part.
fn tree<'a>(outgoing: &Outgoing<'a>) -> Part<'a> {
    let (inline, attached): (Vec<_>, Vec<_>) = outgoing
        .attachments
        .iter()
        .map(Attached::new)
        .partition(|attached| outgoing.html.is_some() && attached.has_content_id());

    let text = outgoing.text.map(|text| Part::Body(Body::plain(text)));
    let html = outgoing.html.map(|html| {
        let mut parts = vec![Part::Body(Body::html(html))];
        parts.extend(inline.into_iter().map(|it| Part::Attached(Disposition::Inline, it)));
        Multipart::Related.around(parts)
    });
    let mut bodies: Vec<_> = text.into_iter().chain(html).collect();
    if bodies.is_empty() && attached.is_empty() {
        bodies.push(Part::Body(Body::plain("")));
    }
    let mut parts = Vec::with_capacity(1 + attached.len());
    if !bodies.is_empty() {
        parts.push(Multipart::Alternative.around(bodies));
    }
    parts.extend(attached.into_iter().map(|it| Part::Attached(Disposition::Attachment, it)));
    Multipart::Mixed.around(parts)
}
