//! Delivery status notifications (RFC 3464, 6533), also those whose part has another media type.

use super::address::address;
use super::diagnostic::tidy;
use super::mime::{Field, Fields, ReportMessage};
use super::recipient_status::{Action, RecipientStatus};
use crate::status::{EnhancedCode, StatusClass};

/// Recipients of one report that are read, at most.
const MAX_RECIPIENTS: usize = 200;

/// What a report says of each recipient; nothing if it is no such report.
pub(super) fn read(parts: &ReportMessage<'_>) -> Vec<RecipientStatus> {
    const STANDARD: [&str; 2] = ["message/delivery-status", "message/global-delivery-status"];
    for media_type in STANDARD {
        if let Some(leaf) = parts.leaf(media_type) {
            let statuses = statuses(leaf.octets());
            if !statuses.is_empty() {
                return statuses;
            }
        }
    }
    if !parts.media_type.starts_with("multipart/") {
        return Vec::new();
    }
    // Some call it text, others a file.
    let others = parts.leaves.iter().filter(|it| !is_quotation(&it.media_type));
    let found = others.map(|it| statuses(it.octets())).find(|it| !it.is_empty());
    found.unwrap_or_default()
}

/// Parts that enclose the returned message are skipped: that message may itself be a DSN.
fn is_quotation(media_type: &str) -> bool {
    [
        "message/rfc822",
        "message/global",
        "text/rfc822-headers",
        "message/global-headers",
        "text/html",
    ]
    .contains(&media_type)
}

/// Reads groups of fields with empty lines between them: one about the report, one for each recipient.
fn statuses(octets: &[u8]) -> Vec<RecipientStatus> {
    let mut statuses = Vec::new();
    let mut rest = octets;
    while !rest.is_empty() && statuses.len() < MAX_RECIPIENTS {
        let (fields, after) = Fields::split(rest);
        rest = after;
        statuses.extend(apart(&fields).iter().filter_map(status));
    }
    statuses
}

/// Splits a group that holds several recipients without an empty line between them.
fn apart(fields: &Fields) -> Vec<Fields> {
    let mut groups: Vec<Vec<Field>> = vec![Vec::new()];
    for field in fields.iter() {
        let begins = ["original-recipient", "final-recipient"].contains(&field.name.as_str());
        let group = groups
            .last_mut()
            .filter(|group| !begins || !group.iter().any(|it| it.name == field.name));
        match group {
            Some(group) => group.push(field.clone()),
            None => groups.push(vec![field.clone()]),
        }
    }
    groups.into_iter().map(Fields::from_iter).collect()
}

fn status(fields: &Fields) -> Option<RecipientStatus> {
    let named = ["original-recipient", "final-recipient"].map(|it| fields.value(it));
    if named.iter().all(Option::is_none) {
        return None;
    }
    let [original_recipient, final_recipient] = named.map(|it| it.and_then(address));
    let status = fields.value("status").and_then(code);
    let action = fields.value("action").and_then(action).or_else(|| status.map(implied))?;
    Some(RecipientStatus {
        original_recipient,
        final_recipient,
        action,
        status,
        diagnostic: fields.value("diagnostic-code").and_then(diagnostic),
        remote_mta: fields.value("remote-mta").map(untyped).and_then(tidy),
    })
}

/// The code in `5.1.1 (bad destination mailbox address)`; some write it behind other words.
fn code(value: &str) -> Option<EnhancedCode> {
    let edges = |c: char| !c.is_ascii_digit();
    value.split_whitespace().find_map(|word| word.trim_matches(edges).parse().ok())
}

fn action(value: &str) -> Option<Action> {
    let value = value.to_ascii_lowercase();
    let word = value.split(|c: char| !c.is_ascii_alphabetic()).find(|it| !it.is_empty())?;
    match word {
        "failed" | "failure" | "fail" | "error" | "bounced" | "expired" => Some(Action::Failed),
        "delayed" | "delay" | "deferred" | "warning" => Some(Action::Delayed),
        "delivered" | "delivery" | "success" => Some(Action::Delivered),
        "relayed" => Some(Action::Relayed),
        "expanded" => Some(Action::Expanded),
        _ => None,
    }
}

/// What happened, where the report has only its code.
fn implied(status: EnhancedCode) -> Action {
    match status.class() {
        StatusClass::Success => Action::Delivered,
        StatusClass::Temporary => Action::Delayed,
        StatusClass::Permanent => Action::Failed,
    }
}

/// `smtp; 550 5.1.1 No such user` without its type.
fn diagnostic(value: &str) -> Option<String> {
    tidy(untyped(value))
}

fn untyped(value: &str) -> &str {
    match value.split_once(';') {
        Some((kind, rest)) if is_type(kind.trim()) => rest.trim(),
        Some(_) | None => value,
    }
}

fn is_type(kind: &str) -> bool {
    kind.starts_with(|c: char| c.is_ascii_alphabetic())
        && kind.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}
