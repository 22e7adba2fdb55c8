//! What a template send takes from the parts of a message: its files, and a part of variables.
//!
//! Texts without a file name are the bodies, which the template makes; they are left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::data;
use super::part::{Leaf, leaves};
use crate::journey::accept::refusal::Fault;
use crate::mail::field::Message;

/// What was found in the parts.
#[derive(Debug, Default)]
pub struct Found {
    /// The variables of the first JSON part without a file name; an `Err` where it is malformed.
    pub data: Option<Result<Map<String, Value>, ()>>,
    /// Files, as the send API has them.
    pub attachments: Vec<Value>,
}

/// Looks through the parts of a message and notes their faults.
pub fn read(message: &Message<'_>, faults: &mut Vec<Fault>) -> Found {
    let mut found = Found::default();
    let leaves = match leaves(message.clone()) {
        Ok(leaves) => leaves,
        Err(error) => {
            faults.push(Fault::new("", "malformed_mime", error.to_string()));
            return found;
        }
    };
    for leaf in &leaves {
        let media_type = leaf.media_type();
        let nameless = leaf.file_name().is_none();
        if nameless && !leaf.is_attachment() && media_type.starts_with("text/") {
            continue;
        }
        let content = match leaf.content() {
            Ok(content) => content,
            Err(error) => {
                faults.push(Fault::new("", "malformed_mime", error.to_string()));
                continue;
            }
        };
        if nameless && media_type == "application/json" && found.data.is_none() {
            let object = data::object(&content, "the JSON part", faults);
            found.data = Some(object.ok_or(()));
        } else {
            let number = found.attachments.len() + 1;
            found.attachments.push(attachment(leaf, &content, number));
        }
    }
    found
}

fn attachment(leaf: &Leaf<'_>, content: &[u8], number: usize) -> Value {
    let name = leaf.file_name().map_or_else(|| format!("attachment-{number}"), str::to_owned);
    let mut attachment = json!({
        "filename": name,
        "contentType": leaf.full_media_type(),
        "content": STANDARD.encode(content),
    });
    if let Some(id) = leaf.content_id() {
        attachment["contentId"] = Value::String(id);
    }
    attachment
}
