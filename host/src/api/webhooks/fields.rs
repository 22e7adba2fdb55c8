//! The fields of requests about webhooks: all faults at once.

use serde_json::Value;

use super::{Fault, Problem, Refusal, Timestamp, WebhookError, WebhookFields, WebhookState};

/// Those of a new webhook, and what is wrong with what means nothing.
pub fn create(body: &Value) -> Result<(WebhookFields, Vec<String>), Problem> {
    let mut fields = Fields::of(body);
    let wanted = WebhookFields {
        url: fields.required("url", "is required, as in https://example.com/hooks"),
        description: fields.text("description"),
        types: fields.texts("types"),
        state: None,
    };
    fields.end(wanted, &["url", "description", "types"])
}

/// Those of a change.
pub fn change(body: &Value) -> Result<(WebhookFields, Vec<String>), Problem> {
    let mut fields = Fields::of(body);
    let state = fields.text("state").and_then(|word| {
        let state = WebhookState::from_name(&word);
        if state.is_none() {
            fields.fault("state", "invalid", "is `active` or `disabled`");
        }
        state
    });
    let wanted = WebhookFields {
        url: fields.text("url"),
        description: fields.text("description"),
        types: fields.texts("types"),
        state,
    };
    fields.end(wanted, &["url", "description", "types", "state"])
}

/// Those of a replay.
pub fn range(body: &Value) -> Result<(Timestamp, Option<Timestamp>), Problem> {
    let mut fields = Fields::of(body);
    let since = fields.required("since", "is required, as in 2026-11-22T00:00:00Z");
    let since = since.and_then(|text| fields.time("since", &text));
    let until = fields.text("until").and_then(|text| fields.time("until", &text));
    if since.zip(until).is_some_and(|(since, until)| until < since) {
        fields.fault("until", "invalid", &WebhookError::Range.to_string());
    }
    // What was misspelled would make another range than was meant.
    fields.only(&["since", "until"]);
    let ((since, until), _) = fields.end((since, until), &["since", "until"])?;
    // Without a fault there is one.
    Ok((since.unwrap_or(Timestamp::from_millis(0)), until))
}

struct Fields<'a> {
    body: &'a Value,
    faults: Vec<Fault>,
}

impl<'a> Fields<'a> {
    fn of(body: &'a Value) -> Self {
        Self { body, faults: Vec::new() }
    }

    fn fault(&mut self, field: &str, code: &str, message: &str) {
        self.faults.push(Fault::new(field, code, message));
    }

    fn text(&mut self, field: &str) -> Option<String> {
        match &self.body[field] {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.fault(field, "invalid", "must be a string");
                None
            }
        }
    }

    fn required(&mut self, field: &str, message: &str) -> Option<String> {
        if self.body[field].is_null() {
            self.fault(field, "missing", message);
        }
        self.text(field)
    }

    fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let Value::Array(items) = &self.body[field] else {
            if !self.body[field].is_null() {
                self.fault(field, "invalid", "must be an array of strings");
            }
            return None;
        };
        let texts: Option<Vec<String>> =
            items.iter().map(|it| it.as_str().map(ToOwned::to_owned)).collect();
        if texts.is_none() {
            self.fault(field, "invalid", "must be an array of strings");
        }
        texts
    }

    fn time(&mut self, field: &str, text: &str) -> Option<Timestamp> {
        let time = Timestamp::parse_rfc3339(text);
        if time.is_none() {
            self.fault(field, "invalid", "must be a time, as in 2026-11-22T00:00:00Z");
        }
        time
    }

    /// There are no other members.
    fn only(&mut self, known: &[&str]) {
        let message = format!("is not known; known are {}", known.join(" and "));
        let members = self.body.as_object().into_iter().flat_map(|it| it.keys());
        for member in members.filter(|it| !known.contains(&it.as_str())) {
            self.faults.push(Fault::new(member, "unknown", &*message));
        }
    }

    fn end<T>(self, wanted: T, known: &[&str]) -> Result<(T, Vec<String>), Problem> {
        if !self.faults.is_empty() {
            return Err(Refusal::bad_request(self.faults).into());
        }
        let members = self.body.as_object().into_iter().flat_map(|it| it.keys());
        let ignored = members.filter(|it| !known.contains(&it.as_str()));
        Ok((wanted, ignored.map(|it| format!("unknown field `{it}`")).collect()))
    }
}
