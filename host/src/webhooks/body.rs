//! What is posted: `{"type", "timestamp", "data"}`, written once for an event.

use serde_json::{Map, Value, json};

use crate::clock::Timestamp;
use crate::id::WebhookId;
use crate::store::{EventSubject, PublishedEvent, WebhookOwner};

/// The body for an event.
#[must_use]
pub fn of_event(event: &PublishedEvent) -> String {
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| drop(data.insert(name.to_owned(), value));
    let (group, word) = event.r#type.split_once('.').unwrap_or((&event.r#type, ""));
    match group {
        "message" => {
            put("messageId", json!(event.subject));
            put("accountId", account(event));
            // A complaint is a mark beside the state.
            let state = match (&event.about, word) {
                (EventSubject::Message(about), "complained") => Some(about.state.as_str()),
                (EventSubject::Domain(_) | EventSubject::Nothing, "complained") => None,
                (
                    EventSubject::Message(_) | EventSubject::Domain(_) | EventSubject::Nothing,
                    word,
                ) => Some(word),
            };
            put("state", json!(state));
            put("reason", json!(event.detail));
            event.facts.iter().for_each(|(name, value)| put(name, value.clone()));
            if let EventSubject::Message(about) = &event.about {
                put("to", json!(about.recipient));
                put("from", json!(about.sender));
                put("subject", json!(about.subject));
                put("template", json!(about.template));
                put("tags", about.tags.clone());
                put("metadata", Value::Object(about.metadata.clone()));
                put("credits", json!(about.credits));
                put("attempt", json!(about.attempt));
            }
        }
        "domain" => {
            put("domainId", json!(event.subject));
            put("accountId", account(event));
            if let EventSubject::Domain(name) = &event.about {
                put("name", json!(name));
            }
            put("reason", json!(event.detail));
        }
        _ => {
            if let WebhookOwner::Account(id) = event.owner {
                put("accountId", json!(id));
            }
            match serde_json::from_str(&event.detail) {
                Ok(Value::Object(facts)) => {
                    facts.into_iter().for_each(|(name, value)| put(&name, value));
                }
                Ok(_) | Err(_) => put("reason", json!(event.detail)),
            }
        }
    }
    whole(&event.r#type, event.at, &Value::Object(data))
}

/// The body of a test of a webhook.
#[must_use]
pub fn of_test(webhook: WebhookId, now: Timestamp) -> String {
    let message = "this is a test; nothing has happened";
    whole("webhook.test", now, &json!({"webhookId": webhook, "message": message}))
}

fn whole(name: &str, at: Timestamp, data: &Value) -> String {
    json!({"type": name, "timestamp": at.rfc3339(), "data": data}).to_string()
}

fn account(event: &PublishedEvent) -> Value {
    match event.owner {
        WebhookOwner::Account(id) => json!(id),
        WebhookOwner::Server => Value::Null,
    }
}
