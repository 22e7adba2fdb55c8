//! The fields of requests about webhooks.

use serde_json::Value;

use super::{Refusal, Timestamp, WebhookError, WebhookFields, WebhookState};
use crate::api::fields::{Fields, Moment};

/// Those of a new webhook, and what is wrong with what means nothing.
pub fn create(body: &Value) -> Result<(WebhookFields, Vec<String>), Refusal> {
    let mut fields = Fields::of(body)?;
    let wanted = WebhookFields {
        url: fields.required("url"),
        description: fields.text("description"),
        types: fields.list("types"),
        state: None,
    };
    Ok((wanted, fields.end()?))
}

/// Those of a change.
pub fn change(body: &Value) -> Result<(WebhookFields, Vec<String>), Refusal> {
    let mut fields = Fields::of(body)?;
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
        types: fields.list("types"),
        state,
    };
    Ok((wanted, fields.end()?))
}

/// Those of a replay.
pub fn range(body: &Value) -> Result<(Timestamp, Option<Timestamp>), Refusal> {
    let mut fields = Fields::of(body)?;
    let since = fields.required::<Moment>("since").map(|it| it.0);
    let until = fields.parsed::<Moment>("until").map(|it| it.0);
    if since.zip(until).is_some_and(|(since, until)| until < since) {
        fields.fault("until", "invalid", WebhookError::Range);
    }
    // What was misspelled would make another range than was meant.
    fields.refuse_unknown();
    fields.end()?;
    // Without a fault there is one.
    Ok((since.unwrap_or(Timestamp::from_millis(0)), until))
}
