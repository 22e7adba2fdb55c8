//! `attachments`: files in base64, bounded in number and size.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::fields::Fields;
use crate::mail::mime::Attachment;

const MAX_ATTACHMENTS: usize = 20;
const MAX_FILENAME: usize = 200;
const MAX_TYPE: usize = 127;
/// Octets of all attachments of a message together, decoded.
const MAX_TOTAL_BYTES: usize = 7 << 20;
/// Accepts base64 with and without padding: clients send both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Parses `attachments`, and reports the faults of every entry at once.
pub fn parse(fields: &mut Fields, value: Value) -> Option<Vec<Attachment>> {
    let items = fields.array(value, "attachments", MAX_ATTACHMENTS)?;
    let read: Vec<Attachment> = items
        .into_iter()
        .enumerate()
        .filter_map(|(index, item)| entry(fields, &format!("attachments[{index}]"), item))
        .collect();
    let total: usize = read.iter().map(|attachment| attachment.content.len()).sum();
    if total > MAX_TOTAL_BYTES {
        let message = format!("may have at most {} MiB in total, decoded", MAX_TOTAL_BYTES >> 20);
        return fields.fault("attachments", "too_large", message);
    }
    Some(read)
}

fn entry(fields: &mut Fields, at: &str, item: Value) -> Option<Attachment> {
    let mut entry = fields.object(item, at)?;
    let mut field = |name: &str| (format!("{at}.{name}"), entry.shift_remove(name));
    let (filename, content_type, content, content_id) =
        (field("filename"), field("contentType"), field("content"), field("contentId"));
    let filename =
        required(fields, filename).and_then(|(at, value)| fields.line(value, &at, MAX_FILENAME));
    let content_type =
        required(fields, content_type).and_then(|(at, value)| fields.line(value, &at, MAX_TYPE));
    let content = required(fields, content).and_then(|(at, value)| {
        let text = fields.text(value, &at)?;
        let text: String = text.split_ascii_whitespace().collect();
        match BASE64.decode(text) {
            Ok(bytes) => Some(bytes),
            Err(_) => fields.fault(&at, "invalid", "must be base64"),
        }
    });
    let content_id = match content_id {
        (_, None | Some(Value::Null)) => None,
        (at, Some(value)) => fields.line(value, &at, MAX_TYPE),
    };
    Some(Attachment {
        filename: filename?,
        content_type: content_type?,
        content: content?,
        content_id,
    })
}

fn required(fields: &mut Fields, (at, value): (String, Option<Value>)) -> Option<(String, Value)> {
    match value {
        None | Some(Value::Null) => fields.fault(&at, "missing", "is required"),
        Some(value) => Some((at, value)),
    }
}
