//! Takes the fields of a message one by one and keeps every fault.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use super::super::json::kind_of;
use super::super::refusal::Fault;
use crate::clock::Timestamp;
use crate::message::address::EmailAddress;
use crate::message::line::{ONE_LINE, is_one_line};

/// `sendAt` is at most that far ahead.
pub(super) const MAX_SEND_AT_AHEAD: Duration = Duration::from_hours(30 * 24);
const MAX_TAGS: usize = 20;
const MAX_TAG: usize = 100;
const MAX_METADATA: usize = 50;
const MAX_METADATA_VALUE: usize = 500;
const MAX_HEADERS: usize = 20;
const MAX_HEADER_VALUE: usize = 2_000;

/// Headers that a client may set beside those that begin with `X-`.
const SAFE_HEADERS: [&str; 8] = [
    "auto-submitted",
    "importance",
    "in-reply-to",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "precedence",
    "references",
];

/// The fields that are left, and the faults so far.
pub struct Fields {
    body: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Fields {
    pub fn new(body: Map<String, Value>) -> Self {
        Self { body, faults: Vec::new() }
    }

    /// A field that must be there; null counts as absent.
    pub fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, Value) -> Option<T>,
    ) -> Option<T> {
        match self.body.shift_remove(name) {
            None | Some(Value::Null) => self.fault(name, "missing", "is required"),
            Some(value) => read(self, value),
        }
    }

    /// A field that may be absent or null.
    pub fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, Value) -> Option<T>,
    ) -> Option<T> {
        match self.body.shift_remove(name) {
            None | Some(Value::Null) => None,
            Some(value) => read(self, value),
        }
    }

    /// All faults, and a warning for each field that nobody took.
    pub fn finish(self) -> (Vec<Fault>, Vec<String>) {
        let unknown = |name: &String| {
            let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            format!("the field `{name}` is unknown and was ignored")
        };
        (self.faults, self.body.keys().take(50).map(unknown).collect())
    }

    /// Notes a fault.
    pub fn fault<T>(&mut self, field: &str, code: &str, message: impl Into<String>) -> Option<T> {
        self.faults.push(Fault::new(field, code, message));
        None
    }

    pub fn text(&mut self, value: Value, field: &str) -> Option<String> {
        if let Value::String(text) = value {
            return Some(text);
        }
        self.wrong_type(field, "a string", &value)
    }

    /// A text on one line, without control characters.
    pub fn line(&mut self, value: Value, field: &str, max: usize) -> Option<String> {
        let text = self.text(value, field)?;
        if text.chars().any(char::is_control) {
            return self.fault(field, "invalid", "may not hold line breaks or control characters");
        }
        if text.chars().count() > max {
            return self.fault(field, "too_long", format!("may have at most {max} characters"));
        }
        Some(text)
    }

    /// A line that is a name: without characters that turn the direction of text.
    pub fn name(&mut self, value: Value, field: &str, max: usize) -> Option<String> {
        let name = self.line(value, field, max)?;
        if is_one_line(&name) {
            return Some(name);
        }
        self.fault(field, "invalid", format!("must be {ONE_LINE}"))
    }

    /// A text that is one of our types.
    pub fn parsed<T: FromStr<Err: Display>>(&mut self, value: Value, field: &str) -> Option<T> {
        let text = self.text(value, field)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => self.fault(field, "invalid", error.to_string()),
        }
    }

    pub fn address(&mut self, value: Value) -> Option<EmailAddress> {
        self.parsed(value, "to")
    }

    /// A text with only one right value.
    pub fn exactly(&mut self, value: Value, field: &str, wanted: &str) -> Option<()> {
        let text = self.text(value, field)?;
        if text == wanted {
            return Some(());
        }
        self.fault(field, "invalid", format!("must be exactly \"{wanted}\""))
    }

    pub fn object(&mut self, value: Value, field: &str) -> Option<Map<String, Value>> {
        if let Value::Object(map) = value {
            return Some(map);
        }
        self.wrong_type(field, "an object", &value)
    }

    pub fn array(&mut self, value: Value, field: &str, max: usize) -> Option<Vec<Value>> {
        let Value::Array(items) = value else {
            return self.wrong_type(field, "an array", &value);
        };
        if items.len() > max {
            return self.fault(field, "too_many", format!("may have at most {max} entries"));
        }
        Some(items)
    }

    /// `tags`: strings.
    pub fn tags(&mut self, value: Value) -> Option<Vec<String>> {
        let items = self.array(value, "tags", MAX_TAGS)?;
        let read = |(index, item)| self.line(item, &format!("tags[{index}]"), MAX_TAG);
        Some(items.into_iter().enumerate().filter_map(read).collect())
    }

    /// `metadata`: an object of strings.
    pub fn metadata(&mut self, value: Value) -> Option<Map<String, Value>> {
        let map = self.object(value, "metadata")?;
        if map.len() > MAX_METADATA {
            let message = format!("may have at most {MAX_METADATA} entries");
            return self.fault("metadata", "too_many", message);
        }
        let mut metadata = Map::new();
        for (key, value) in map {
            let field = format!("metadata.{key}");
            if key.chars().count() > MAX_TAG || !is_one_line(&key) {
                let message = format!("a name must be at most {MAX_TAG} characters {ONE_LINE}");
                self.fault::<()>(&field, "invalid", message);
                continue;
            }
            if let Some(text) = self.text(value, &field) {
                if text.chars().count() > MAX_METADATA_VALUE {
                    let message = format!("may have at most {MAX_METADATA_VALUE} characters");
                    self.fault::<()>(&field, "too_long", message);
                }
                metadata.insert(key, Value::String(text));
            }
        }
        Some(metadata)
    }

    /// `sendAt`: RFC 3339, at most 30 days ahead. A past moment means now.
    pub fn send_at(&mut self, value: Value, now: Timestamp) -> Option<Timestamp> {
        let text = self.text(value, "sendAt")?;
        match Timestamp::parse_rfc3339(&text) {
            Some(moment) if moment <= now.after(MAX_SEND_AT_AHEAD) => Some(moment),
            Some(_) => self.fault("sendAt", "too_far", "may be at most 30 days ahead"),
            None => self.fault("sendAt", "invalid", "must be RFC 3339, as in 2026-12-24T18:00:00Z"),
        }
    }

    /// `headers`: an object; a safe list only.
    pub fn headers(&mut self, value: Value) -> Option<Vec<(String, String)>> {
        let map = self.object(value, "headers")?;
        if map.len() > MAX_HEADERS {
            let message = format!("may have at most {MAX_HEADERS} entries");
            return self.fault("headers", "too_many", message);
        }
        let mut headers = Vec::with_capacity(map.len());
        for (name, value) in map {
            let field = format!("headers.{name}");
            let Some(value) = self.line(value, &field, MAX_HEADER_VALUE) else { continue };
            if is_safe_header(&name) {
                headers.push((name, value));
            } else {
                let message = format!("may not be set; allowed: X-*, {}", SAFE_HEADERS.join(", "));
                self.fault::<()>(&field, "forbidden", message);
            }
        }
        Some(headers)
    }

    /// A value of the wrong JSON type.
    pub fn wrong_type<T>(&mut self, field: &str, wanted: &str, found: &Value) -> Option<T> {
        self.fault(field, "type", format!("must be {wanted}, not {}", kind_of(found)))
    }
}

/// RFC 5322 section 2.2: a name is printable ASCII without a colon.
fn is_safe_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let token = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let own = lower.starts_with("x-") && !lower.starts_with("x-waxwing-") && lower.len() > 2;
    token && name.len() <= 64 && (own || SAFE_HEADERS.contains(&lower.as_str()))
}
