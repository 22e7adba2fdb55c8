//! The shapes of requests and answers, for the generated document. What they say is held against
//! real answers by the end-to-end tests.

#![expect(dead_code, reason = "shapes for the document; nobody makes values of them")]

mod brand;
mod domain;
mod message;
mod operator;
mod reference;
mod suppression;
mod webhook;

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{IntoParams, IntoResponses, ToSchema};

pub use brand::{Brand, BrandRefusals, ChangeBrand};
pub use domain::{AddDomain, AdminRefusals, DeletedDomain, Domain};
pub use message::{
    AttemptList, EventList, Message, MessagePage, MessageState, ReadRefusals, ResendRefusals,
    Resent, StateRefusals,
};
pub use operator::{DecisionRecord, Impact, Installed, Listing, OperatorRefusals, Slot};
pub use reference::{
    AccountRef, Component, ComponentOrNothing, Count, DecisionOrMessage, DecisionRef, DomainRef,
    EventRef, ImpactRule, Limit, MessageRef, SlotRef, WebhookRef,
};
pub use suppression::{
    DeletedSuppression, NewSuppression, NewSuppressions, Suppression, SuppressionKind,
    SuppressionPage, SuppressionResults,
};
pub use webhook::{
    ChangeWebhook, CreateWebhook, DeletedWebhook, DeliveryState, NewWebhook, ReplayWebhook,
    Replayed, Webhook, WebhookDelivery, WebhookDeliveryList, WebhookEvent, WebhookList,
    WebhookOwner, WebhookTest,
};

/// Messages to send.
#[derive(Serialize, ToSchema)]
#[schema(min_items = 1, max_items = 500)]
pub struct SendBatch(Vec<SendRequest>);

/// One message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "to": "ada@example.com", "type": "EMAIL", "template": "verification-code",
    "data": {"code": "481 902"},
}))]
pub struct SendRequest {
    /// One recipient address.
    #[schema(format = "email", max_length = 254)]
    to: String,
    /// Exactly `EMAIL`.
    r#type: MessageType,
    /// Slug of a published template.
    #[schema(min_length = 1, max_length = 64)]
    template: String,
    /// The variables that the template requires.
    #[schema(value_type = Object)]
    data: BTreeMap<String, serde_json::Value>,
    /// Display name of the sender.
    #[schema(max_length = 200)]
    from_name: Option<String>,
    /// An address on a verified domain of the account; default: the template's, then the account's.
    #[schema(format = "email")]
    from: Option<String>,
    /// Where answers go.
    #[schema(format = "email")]
    reply_to: Option<String>,
    /// Words to find the message by.
    #[schema(max_items = 20)]
    tags: Option<Vec<String>>,
    /// Your own facts about the message.
    metadata: Option<BTreeMap<String, String>>,
    /// When it may leave; at most 30 days ahead.
    #[schema(format = "date-time")]
    send_at: Option<String>,
    /// Files that go with it; at most 7 MiB together.
    #[schema(max_items = 20)]
    attachments: Option<Vec<Attachment>>,
    /// Further headers: `X-*` and a safe list.
    headers: Option<BTreeMap<String, String>>,
}

/// The only type of message.
#[derive(Serialize, ToSchema)]
pub enum MessageType {
    #[serde(rename = "EMAIL")]
    Email,
}

/// A file.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Its name.
    #[schema(max_length = 200)]
    filename: String,
    /// E.g. `application/pdf`.
    content_type: String,
    /// Base64.
    #[schema(content_encoding = "base64")]
    content: String,
    /// For `<img src="cid:…">`.
    content_id: Option<String>,
}

/// A message that is stored, charged and queued.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendResponse {
    /// Always true.
    success: bool,
    /// `msg_…`.
    message_id: String,
    /// The balance after it.
    credits_remaining: i64,
    /// `queued`, `scheduled` or `suppressed`.
    state: String,
    /// What was accepted and ignored, and each variable that the template left blank.
    warnings: Option<Vec<String>>,
}

/// One result for each message.
#[derive(Serialize, ToSchema)]
pub struct BatchResponse {
    /// Whether all were accepted.
    success: bool,
    /// In the order of the request.
    data: Vec<BatchResult>,
}

/// The body of a 201, or a problem.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchResult {
    Sent(Box<SendResponse>),
    Refused(Box<Problem>),
}

/// RFC 9457, and our members.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    r#type: String,
    title: String,
    status: u16,
    detail: String,
    instance: String,
    /// Always false.
    success: bool,
    /// E.g. `INSUFFICIENT_BALANCE`.
    code: String,
    /// The same as `detail`.
    message: String,
    /// The same as the header `X-Request-Id`.
    request_id: String,
    /// All faults of a `BAD_REQUEST`.
    errors: Option<Vec<Fault>>,
    /// The record of what the plugins decided.
    decision_id: Option<String>,
    /// `INSUFFICIENT_BALANCE`: what the message costs.
    required: Option<i64>,
    /// `INSUFFICIENT_BALANCE`: the balance.
    credits_remaining: Option<i64>,
    /// `DOMAIN_NOT_VERIFIED`: the domain.
    domain: Option<String>,
    /// `DOMAIN_NOT_VERIFIED`: percent, below 100.
    progress: Option<u8>,
    /// `DOMAIN_NOT_VERIFIED`: what is missing.
    missing: Option<Vec<String>>,
    /// `RESTRICTED_TEMPLATE`: the template.
    template: Option<String>,
    /// `RESTRICTED_TEMPLATE`: the account's plan.
    plan: Option<String>,
    /// `RESTRICTED_TEMPLATE`: the plan that would allow it.
    required_plan: Option<String>,
}

/// One fault of a request.
#[derive(Serialize, ToSchema)]
pub struct Fault {
    /// E.g. `to` or `data.user.name`.
    field: String,
    /// E.g. `missing`.
    code: String,
    /// What is wrong and what is wanted.
    message: String,
}

/// All is well.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    status: String,
}

/// What the send routes take beside the body.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IdempotencyKey {
    /// 1-256 visible ASCII characters; the same key and body get the first answer again for 24 hours.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 256, pattern = "^[!-~]+$")]
    idempotency_key: Option<String>,
}

/// The refusals of the send routes.
#[derive(IntoResponses)]
pub enum Refusals {
    /// `BAD_REQUEST`: all faults at once.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `INSUFFICIENT_BALANCE`: nothing was charged, nothing was stored.
    #[response(status = 402, content_type = "application/problem+json")]
    PaymentRequired(Problem),
    /// `DOMAIN_NOT_VERIFIED`, `RESTRICTED_TEMPLATE` or `FORBIDDEN`.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `REQUEST_TIMEOUT`: the body did not arrive in time.
    #[response(status = 408, content_type = "application/problem+json")]
    RequestTimeout(Problem),
    /// `CONFLICT`: a request with this Idempotency-Key is running.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `PAYLOAD_TOO_LARGE`.
    #[response(status = 413, content_type = "application/problem+json")]
    PayloadTooLarge(Problem),
    /// `UNSUPPORTED_MEDIA_TYPE`: not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
    /// `IDEMPOTENCY_CONFLICT`: the key was used for another request.
    #[response(status = 422, content_type = "application/problem+json")]
    Unprocessable(Problem),
    /// `RATE_LIMITED`: see `Retry-After`.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`: a bug, or a broken published template.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: a plugin failed closed, the store is not reachable, or the server is
    /// shutting down; see `Retry-After`.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
