//! The shapes of webhooks, their deliveries, and what is posted to them.

use serde::Serialize;
use utoipa::ToSchema;

use super::WebhookEvent;
use crate::store::sqlite::{DeliveryState, WebhookState};

/// A webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// `whk_…`
    id: String,
    /// `acc_…`; none for one of the server.
    account_id: Option<String>,
    /// Where events are posted to.
    url: String,
    /// In its owner's words.
    description: String,
    /// The wanted types of events; empty for all.
    types: Vec<String>,
    /// Whether it is told anything.
    state: WebhookState,
    /// Why it is in its state.
    reason: String,
    /// Since when it is in its state.
    #[schema(format = "date-time")]
    since: String,
    /// Until when the secret before the last rotation signs too.
    #[schema(format = "date-time")]
    earlier_secret_until: Option<String>,
    /// When it last took an event.
    #[schema(format = "date-time")]
    succeeded_at: Option<String>,
    /// The first failure since then.
    #[schema(format = "date-time")]
    failing_since: Option<String>,
    /// When it was made.
    #[schema(format = "date-time")]
    created_at: String,
    /// Members of the request that mean nothing here.
    warnings: Option<Vec<String>>,
}

/// A webhook with its secret, which is told this once.
#[derive(Serialize, ToSchema)]
pub struct NewWebhook {
    /// The webhook.
    #[serde(flatten)]
    webhook: Webhook,
    /// `whsec_<base64 of 32 bytes>`.
    secret: String,
}

/// Some webhooks.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookList {
    /// Oldest first.
    data: Vec<Webhook>,
    /// Whether there are more.
    has_more: bool,
    /// What the next page comes after, where there is one.
    next: Option<String>,
}

/// A webhook that is gone.
#[derive(Serialize, ToSchema)]
pub struct DeletedWebhook {
    /// `whk_…`
    id: String,
    /// Always true.
    deleted: bool,
}

/// What came of a test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTest {
    /// `evt_…`, as in the header `webhook-id`.
    id: String,
    /// `whk_…`
    webhook_id: String,
    /// Whether it was taken.
    delivered: bool,
    /// The try.
    attempt: WebhookTry,
}

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

/// One event for one webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// `evt_…`, as in the header `webhook-id` of every try.
    id: String,
    /// As in `message.delivered`.
    r#type: String,
    /// What it is.
    state: DeliveryState,
    /// When the next try is due.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When it was handed to the webhook.
    #[schema(format = "date-time")]
    created_at: String,
    /// The last 20 tries, oldest first.
    attempts: Vec<WebhookTry>,
    /// What is posted.
    body: WebhookEvent,
}

/// Some deliveries.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveryList {
    /// Newest first.
    data: Vec<WebhookDelivery>,
    /// Whether there may be more.
    has_more: bool,
    /// What to give as `after` for the next page, where there may be more.
    next: Option<String>,
}

/// How many deliveries are posted once more.
#[derive(Serialize, ToSchema)]
pub struct Replayed {
    /// How many.
    replayed: u64,
}
