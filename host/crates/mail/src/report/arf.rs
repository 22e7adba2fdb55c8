//! Complaints: the Abuse Reporting Format (RFC 5965, 6650), and Outlook.com's reports, which only
//! enclose the message.

use super::address::address;
use super::mime::{Fields, ReportMessage};
use crate::address::EmailAddress;

/// Recipients of one complaint that are read, at most.
const MAX_RECIPIENTS: usize = 20;

/// That somebody complains about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    pub kind: ComplaintKind,
    /// The return paths of the message, as the report and the message tell them; often redacted.
    pub return_paths: Vec<EmailAddress>,
    /// Who complains, where the report says so.
    pub recipients: Vec<EmailAddress>,
    /// The message's identifier, without its angle brackets.
    pub message_id: Option<String>,
    /// The message's author.
    pub author: Option<EmailAddress>,
    /// The message's header as it is enclosed, its lines ending in CRLF: what its signatures are over.
    pub header: Vec<u8>,
}

/// What a complaint is about (RFC 5965 section 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComplaintKind {
    /// Unwanted mail.
    Abuse,
    Fraud,
    Virus,
    /// The opposite of a complaint: it was taken for spam, and is none.
    NotSpam,
    /// Anything else, such as an authentication failure (RFC 6591).
    Other,
}

/// Reads a complaint; none if it is no such report.
pub(super) fn read(parts: &ReportMessage<'_>) -> Option<Complaint> {
    standard(parts).or_else(|| enclosed(parts))
}

fn standard(parts: &ReportMessage<'_>) -> Option<Complaint> {
    if !parts.media_type.starts_with("multipart/") {
        return None;
    }
    // Some call its part text.
    let candidates = ["message/feedback-report", "text/plain", "application/octet-stream"];
    let leaves = candidates
        .iter()
        .flat_map(|kind| parts.leaves.iter().filter(move |leaf| leaf.media_type == *kind));
    let mut fields = leaves.map(|leaf| Fields::split(leaf.octets()).0);
    let report = fields.find(|it| it.value("feedback-type").is_some())?;
    let kind = match report.value("feedback-type")?.to_ascii_lowercase().trim() {
        "abuse" => ComplaintKind::Abuse,
        "fraud" => ComplaintKind::Fraud,
        "virus" => ComplaintKind::Virus,
        "not-spam" => ComplaintKind::NotSpam,
        _ => ComplaintKind::Other,
    };
    let recipients = ["original-rcpt-to", "removal-recipient"];
    let recipients = recipients.iter().flat_map(|name| report.all(name)).filter_map(address);
    let mut complaint = of_quoted(kind, parts);
    complaint.recipients = recipients.take(MAX_RECIPIENTS).collect();
    let named = report.value("original-mail-from").and_then(address);
    complaint.return_paths = named.into_iter().chain(complaint.return_paths).collect();
    Some(complaint)
}

/// Outlook.com's programme: the subject says it, and the message is enclosed.
fn enclosed(parts: &ReportMessage<'_>) -> Option<Complaint> {
    let subject = parts.subject().to_ascii_lowercase();
    if !subject.starts_with("complaint about message from ") {
        return None;
    }
    let quoted = parts.original_fields()?;
    let mut complaint = of_quoted(ComplaintKind::Abuse, parts);
    complaint.recipients =
        quoted.value("x-hmxmroriginalrecipient").and_then(address).into_iter().collect();
    Some(complaint)
}

/// The facts that the original message shows.
fn of_quoted(kind: ComplaintKind, parts: &ReportMessage<'_>) -> Complaint {
    let quoted = parts.original_fields();
    let value = |name: &str| quoted.as_ref().and_then(|it| it.value(name));
    let message_id = value("message-id").and_then(|it| {
        let inside =
            it.split_once('<').map_or(it, |(_, rest)| rest.split('>').next().unwrap_or(rest));
        let inside = inside.trim();
        (!inside.is_empty()).then(|| inside.to_owned())
    });
    Complaint {
        kind,
        return_paths: value("return-path").and_then(address).into_iter().collect(),
        recipients: Vec::new(),
        message_id,
        author: value("from").and_then(author),
        header: parts.original_header_bytes(),
    }
}

/// The address in `"Ada" <ada@example.com>`: what stands in the last angle brackets.
fn author(value: &str) -> Option<EmailAddress> {
    match value.rsplit_once('<') {
        Some((_, rest)) => rest.split('>').next().and_then(|it| it.trim().parse().ok()),
        None => address(value),
    }
}

impl ComplaintKind {
    /// The word in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abuse => "abuse",
            Self::Fraud => "fraud",
            Self::Virus => "virus",
            Self::NotSpam => "not-spam",
            Self::Other => "other",
        }
    }
}
