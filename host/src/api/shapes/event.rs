//! What is posted to webhooks, and the log of the tries: `webhooks` writes both.

#![expect(
    dead_code,
    reason = "events are written before they are stored; these are for the document"
)]

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// One try.
#[derive(Serialize, ToSchema)]
pub struct WebhookTry {
    /// When it ended.
    #[schema(format = "date-time")]
    at: String,
    /// The status; none where there was no answer.
    status: Option<u16>,
    /// Why it was not taken.
    error: Option<String>,
    /// How long it took.
    millis: u64,
    /// The beginning of the answer.
    response: String,
}

/// What is posted to a webhook, with the headers `webhook-id`, `webhook-timestamp` and
/// `webhook-signature` of Standard Webhooks.
#[derive(Serialize, ToSchema)]
pub struct WebhookEvent {
    /// `message.scheduled`, `.queued`, `.sending`, `.delivered`, `.relayed`, `.deferred`, `.bounced`,
    /// `.failed`, `.suppressed`, `.canceled`, `.complained`; `domain.verified`, `.warning`, `.degraded`,
    /// `.failed`; `credits.low`, `.exhausted`; `template.published`; `plugin.activated`, `.rolled_back`,
    /// `.trapped`; `webhook.disabled`; and `webhook.test`, which is posted when somebody asks for a test
    /// and needs no choice.
    r#type: String,
    /// When it happened.
    #[schema(format = "date-time")]
    timestamp: String,
    /// The facts; which ones depends on the type.
    data: WebhookData,
}

/// What a webhook event says about its subject: a message, a domain, a plugin or a balance.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum WebhookData {
    Message(Box<MessageEvent>),
    Domain(DomainEvent),
    Other(BTreeMap<String, serde_json::Value>),
}

/// Of `message.<state>`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageEvent {
    /// `msg_…`
    message_id: String,
    /// `acc_…`
    account_id: String,
    /// The state that it has got; of `message.complained` where it stands, and null where it is not kept.
    state: Option<String>,
    /// Why, in the words of the server that said it.
    reason: String,
    /// Of `message.bounced`: the code of the server's reply, as `550`.
    code: Option<u16>,
    /// Of `message.bounced`: the enhanced status code, as `5.1.1`.
    enhanced: Option<String>,
    /// Of `message.bounced`: `hard` where the address takes no mail, `unclear` where it was refused without a
    /// reason, `refused` where this message was.
    class: Option<String>,
    /// Of `message.bounced`: the host that refused it.
    remote_host: Option<String>,
    /// Of `message.bounced`: whether the address is on the suppression list now.
    suppressed: Option<bool>,
    /// The recipient. It and what follows is missing where the message is not kept any more.
    to: Option<String>,
    /// The author.
    from: Option<String>,
    /// The subject.
    subject: Option<String>,
    /// The slug of its template.
    template: Option<String>,
    /// Your own words.
    tags: Option<Vec<String>>,
    /// Your own facts.
    metadata: Option<BTreeMap<String, String>>,
    /// What it cost.
    credits: Option<i64>,
    /// How many attempts had begun.
    attempt: Option<i64>,
}

/// Of `domain.<event>`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainEvent {
    /// `dom_…`
    domain_id: String,
    /// `acc_…`
    account_id: String,
    /// Its name; missing where the domain is not there any more.
    name: Option<String>,
    /// Why.
    reason: String,
}
