//! What is posted: `{"type", "timestamp", "data"}`, written once for an event.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::id::{AccountId, WebhookId};
use crate::message::state::MessageState;
use crate::store::{EventKind, EventSubject, MessageSubject, PublishedEvent, WebhookOwner};

/// What is posted to a webhook, with the headers `webhook-id`, `webhook-timestamp` and
/// `webhook-signature` of Standard Webhooks.
#[derive(Serialize, ToSchema)]
pub struct WebhookEvent {
    /// `message.scheduled`, `.queued`, `.sending`, `.delivered`, `.relayed`, `.deferred`, `.bounced`,
    /// `.failed`, `.suppressed`, `.canceled`, `.complained`; `domain.verified`, `.warning`, `.degraded`,
    /// `.failed`; `credits.low`, `.exhausted`; `template.published`; `plugin.activated`, `.rolled_back`,
    /// `.trapped`; `webhook.disabled`; `server.health`; and `webhook.test`, which is posted when somebody asks for a
    /// test and needs no choice.
    r#type: String,
    /// When it happened.
    #[schema(format = "date-time")]
    timestamp: String,
    /// The facts; which ones depends on the type.
    data: WebhookData,
}

/// What a webhook event says about its subject: a message, a domain, a plugin, a balance or the server's health.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum WebhookData {
    Message(Box<MessageEvent>),
    Domain(DomainEvent),
    #[schema(value_type = BTreeMap<String, Value>)]
    Other(Map<String, Value>),
}

/// Of `message.<state>`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageEvent {
    /// `msg_…`
    message_id: String,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: Option<AccountId>,
    /// The state that it has got; of `message.complained` where it stands, and null where it is not kept.
    #[schema(value_type = Option<String>)]
    state: Option<MessageState>,
    /// The reason, in the words of the server that replied.
    reason: String,
    /// Of `message.bounced`.
    #[serde(flatten)]
    #[schema(value_type = BouncedMessage)]
    bounce: Option<BouncedMessage>,
    /// Missing where the message is not kept any more.
    #[serde(flatten)]
    #[schema(value_type = KeptMessage)]
    message: Option<KeptMessage>,
}

/// What `message.bounced` also says.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BouncedMessage {
    /// Of `message.bounced`: the code of the server's reply, as `550`.
    code: Option<u16>,
    /// Of `message.bounced`: the enhanced status code, as `5.1.1`.
    enhanced: Option<String>,
    /// Of `message.bounced`: `hard` where the address takes no mail, `unclear` where it was refused without a
    /// reason, `refused` where this message was.
    #[schema(required = false)]
    class: String,
    /// Of `message.bounced`: the host that refused it.
    remote_host: Option<String>,
    /// Of `message.bounced`: whether the address is on the suppression list now.
    #[schema(required = false)]
    suppressed: bool,
}

/// The members about a message while it is kept.
#[derive(Serialize, ToSchema)]
pub struct KeptMessage {
    /// The recipient.
    #[schema(required = false)]
    to: String,
    /// The author.
    #[schema(required = false)]
    from: String,
    /// The subject.
    #[schema(required = false)]
    subject: String,
    /// The slug of its template.
    template: Option<String>,
    /// Your own words.
    #[schema(value_type = Vec<String>, required = false)]
    tags: Value,
    /// Your own facts.
    #[schema(value_type = BTreeMap<String, String>, required = false)]
    metadata: Map<String, Value>,
    /// What it cost.
    #[schema(required = false)]
    credits: i64,
    /// How many attempts had begun.
    #[schema(required = false)]
    attempt: i64,
}

/// Of `domain.<event>`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainEvent {
    /// `dom_…`
    domain_id: String,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: Option<AccountId>,
    /// Its name; missing where the domain is not there any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Why the domain is in its new state.
    reason: String,
}

/// The body for an event.
#[must_use]
pub fn of_event(event: &PublishedEvent) -> String {
    let data = match event.r#type {
        EventKind::State(state) => message_data(event, Some(state)),
        // A complaint is a mark beside the state.
        EventKind::Complained => message_data(event, message_of(event).map(|it| it.state)),
        EventKind::DomainVerified
        | EventKind::DomainWarning
        | EventKind::DomainDegraded
        | EventKind::DomainFailed => WebhookData::Domain(DomainEvent::new(event)),
        EventKind::CreditsLow
        | EventKind::CreditsExhausted
        | EventKind::TemplatePublished
        | EventKind::PluginActivated
        | EventKind::PluginRolledBack
        | EventKind::PluginTrapped
        | EventKind::WebhookDisabled
        | EventKind::ServerHealth => WebhookData::Other(facts(event)),
    };
    written(event.r#type.as_str(), event.at, data)
}

/// The body of a test of a webhook.
#[must_use]
pub fn of_test(webhook: WebhookId, now: Timestamp) -> String {
    let data = Map::from_iter([
        ("webhookId".to_owned(), json!(webhook)),
        ("message".to_owned(), json!("this is a test; nothing has happened")),
    ]);
    written("webhook.test", now, WebhookData::Other(data))
}

fn written(name: &str, at: Timestamp, data: WebhookData) -> String {
    let event = WebhookEvent { r#type: name.to_owned(), timestamp: at.rfc3339(), data };
    serde_json::to_string(&event).expect("it has text for keys")
}

fn message_data(event: &PublishedEvent, state: Option<MessageState>) -> WebhookData {
    WebhookData::Message(Box::new(MessageEvent {
        message_id: event.subject.clone(),
        account_id: account(event),
        state,
        reason: event.detail.clone(),
        bounce: bounce(event),
        message: message_of(event).map(KeptMessage::from),
    }))
}

fn message_of(event: &PublishedEvent) -> Option<&MessageSubject> {
    match &event.about {
        EventSubject::Message(message) => Some(message),
        EventSubject::Domain(_) | EventSubject::Nothing => None,
    }
}

/// What the store holds of a bounce besides its reason.
fn bounce(event: &PublishedEvent) -> Option<BouncedMessage> {
    if event.facts.is_empty() {
        return None;
    }
    match serde_json::from_value(Value::Object(event.facts.clone())) {
        Ok(bounce) => Some(bounce),
        Err(error) => {
            tracing::error!(event = %event.id, %error, "the stored reply of a bounce cannot be read; its webhook event is sent without code, class and host");
            None
        }
    }
}

impl From<&MessageSubject> for KeptMessage {
    fn from(message: &MessageSubject) -> Self {
        Self {
            to: message.recipient.clone(),
            from: message.sender.clone(),
            subject: message.subject.clone(),
            template: message.template.clone(),
            tags: message.tags.clone(),
            metadata: message.metadata.clone(),
            credits: message.credits,
            attempt: message.attempt,
        }
    }
}

impl DomainEvent {
    fn new(event: &PublishedEvent) -> Self {
        let name = match &event.about {
            EventSubject::Domain(name) => Some(name.clone()),
            EventSubject::Message(_) | EventSubject::Nothing => None,
        };
        let (domain_id, account_id) = (event.subject.clone(), account(event));
        Self { domain_id, account_id, name, reason: event.detail.clone() }
    }
}

/// The other events hold their facts as JSON.
fn facts(event: &PublishedEvent) -> Map<String, Value> {
    let account = account(event).map(|id| ("accountId".to_owned(), json!(id)));
    let facts = match serde_json::from_str(&event.detail) {
        Ok(Value::Object(facts)) => facts,
        Ok(_) | Err(_) => Map::from_iter([("reason".to_owned(), json!(event.detail))]),
    };
    account.into_iter().chain(facts).collect()
}

fn account(event: &PublishedEvent) -> Option<AccountId> {
    match event.owner {
        WebhookOwner::Account(id) => Some(id),
        WebhookOwner::Server => None,
    }
}

#[cfg(test)]
mod tests;
