//! Webhooks and their deliveries.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::from_row;
use super::page::{Listed, PAGED, Page, PageDoc};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, WebhookId};
use crate::store::{self, DeliveryRow, WebhookCounts, WebhookOwner, WebhookRow};
use crate::webhooks::body::WebhookEvent;
use crate::webhooks::owner_operations::TestOutcome;
use crate::webhooks::signature::Secret;

/// A webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// `whk_…`
    #[schema(value_type = String)]
    id: WebhookId,
    /// `acc_…`; none for one of the server.
    #[schema(value_type = Option<String>)]
    account_id: Option<AccountId>,
    /// Where events are posted to.
    url: String,
    /// In its owner's words.
    description: String,
    /// The wanted types of events; empty for all.
    types: Vec<String>,
    /// Whether events are posted to the webhook.
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
    /// How its deliveries go; only where one webhook is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<WebhookFigures>,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How the deliveries of a webhook go. At most 10,000 of each are counted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookFigures {
    /// Of the events of the last 24 hours, those that the endpoint accepted.
    delivered: u32,
    /// Of the events of the last 24 hours, those that it did not accept, and that are posted no more.
    failed: u32,
    /// Events of any age that are still to be posted, or posted again.
    waiting: u32,
}

/// Whether events are posted to a webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookState {
    /// It is.
    Active,
    /// It is not.
    Disabled,
}

/// What a delivery can be.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// Another attempt follows.
    Pending,
    /// The endpoint accepted the event.
    Delivered,
    /// The endpoint did not accept the event, and no attempt follows without a replay.
    Failed,
}

/// A webhook with its secret, which is shown this once.
#[derive(Serialize, ToSchema)]
pub struct NewWebhook {
    /// The webhook.
    #[serde(flatten)]
    webhook: Webhook,
    /// `whsec_<base64 of 32 bytes>`.
    secret: String,
    #[schema(ignore)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A webhook that is gone.
#[derive(Serialize, ToSchema)]
pub struct DeletedWebhook {
    /// `whk_…`
    #[schema(value_type = String)]
    pub id: WebhookId,
    /// Always true.
    pub deleted: bool,
}

/// One attempt.
#[derive(Serialize, ToSchema)]
pub struct WebhookAttempt {
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

/// What came of a test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTest {
    /// `evt_…`, as in the header `webhook-id`.
    #[schema(value_type = String)]
    id: EventId,
    /// `whk_…`
    #[schema(value_type = String)]
    webhook_id: WebhookId,
    /// Whether it was taken.
    delivered: bool,
    /// The attempt.
    attempt: WebhookAttempt,
}

/// One event for one webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// `evt_…`, as in the header `webhook-id` of every attempt.
    #[schema(value_type = String)]
    id: EventId,
    /// As in `message.delivered`.
    r#type: String,
    /// What it is.
    state: DeliveryState,
    /// When the next attempt is due.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When it was handed to the webhook.
    #[schema(format = "date-time")]
    created_at: String,
    /// The last 20 attempts, oldest first.
    attempts: Vec<WebhookAttempt>,
    /// What is posted.
    // Not read into the structs of today: an earlier version of the server may have written it, and it is shown
    // as it was posted.
    #[schema(value_type = WebhookEvent)]
    body: Value,
}

/// What a webhook was told of a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageDelivery {
    /// `evt_…`, as in the header `webhook-id` of every attempt.
    #[schema(value_type = String)]
    id: EventId,
    /// `whk_…`
    #[schema(value_type = String)]
    webhook_id: WebhookId,
    /// Where the webhook posts to now.
    url: String,
    /// As in `message.delivered`.
    r#type: String,
    /// What it is.
    state: DeliveryState,
    /// When the next attempt is due.
    #[schema(format = "date-time")]
    next_attempt_at: Option<String>,
    /// When it was handed to the webhook.
    #[schema(format = "date-time")]
    created_at: String,
    /// The last attempt; none where there was none yet.
    last_attempt: Option<WebhookAttempt>,
}

/// How many deliveries are posted once more.
#[derive(Serialize, ToSchema)]
pub struct Replayed {
    /// How many.
    pub replayed: u64,
}

impl Webhook {
    /// The webhook as it stands `now`.
    pub fn new(row: WebhookRow, now: Timestamp) -> Self {
        let account_id = match row.owner {
            WebhookOwner::Account(id) => Some(id),
            WebhookOwner::Server => None,
        };
        let earlier = row.earlier.map(|(_, until)| until).filter(|until| *until > now);
        Self {
            id: row.id,
            account_id,
            url: row.url,
            description: row.description,
            types: row.types,
            state: row.state.into(),
            reason: row.reason,
            since: row.since.rfc3339(),
            earlier_secret_until: earlier.map(Timestamp::rfc3339),
            succeeded_at: row.succeeded_at.map(Timestamp::rfc3339),
            failing_since: row.failing_since.map(Timestamp::rfc3339),
            created_at: row.created_at.rfc3339(),
            figures: None,
            warnings: Vec::new(),
        }
    }

    /// The webhook with how its deliveries go.
    #[must_use]
    pub fn with_figures(self, counts: WebhookCounts) -> Self {
        let WebhookCounts { delivered, failed, waiting } = counts;
        Self { figures: Some(WebhookFigures { delivered, failed, waiting }), ..self }
    }
}

impl NewWebhook {
    /// The webhook as it stands `now`, with its secret.
    pub fn new((row, secret): (WebhookRow, Secret), now: Timestamp) -> Self {
        let webhook = Webhook::new(row, now);
        Self { webhook, secret: secret.text(), warnings: Vec::new() }
    }
}

impl WebhookTest {
    pub fn new(webhook_id: WebhookId, tested: TestOutcome) -> Self {
        let TestOutcome { event, delivered, attempt } = tested;
        Self { id: event, webhook_id, delivered, attempt: attempt.into() }
    }
}

from_row!(row: DeliveryRow => WebhookDelivery {
    id, r#type, state: row.state.into(), next_attempt_at: row.next_attempt_at.map(Timestamp::rfc3339),
    created_at: row.created_at.rfc3339(),
    attempts: row.attempts.into_iter().map(WebhookAttempt::from).collect(), body,
});

from_row!(row: store::MessageDelivery => MessageDelivery {
    id: row.event, webhook_id: row.webhook, url, r#type, state: row.state.into(),
    next_attempt_at: row.next_attempt_at.map(Timestamp::rfc3339), created_at: row.created_at.rfc3339(),
    last_attempt: row.last_attempt.map(WebhookAttempt::from),
});

from_row!(row: store::WebhookAttempt => WebhookAttempt { at, status, error, millis, response });

impl From<store::WebhookState> for WebhookState {
    fn from(state: store::WebhookState) -> Self {
        match state {
            store::WebhookState::Active => Self::Active,
            store::WebhookState::Disabled => Self::Disabled,
        }
    }
}

impl From<store::DeliveryState> for DeliveryState {
    fn from(state: store::DeliveryState) -> Self {
        match state {
            store::DeliveryState::Pending => Self::Pending,
            store::DeliveryState::Delivered => Self::Delivered,
            store::DeliveryState::Failed => Self::Failed,
        }
    }
}

pub type WebhookList = Page<Webhook>;
pub type WebhookDeliveryList = Page<WebhookDelivery>;
pub type MessageDeliveryList = Page<MessageDelivery>;

impl Listed for Webhook {
    const PAGE: PageDoc = PageDoc {
        name: "WebhookList",
        about: "Some webhooks.",
        data: "Oldest first.",
        has_more: "Whether there are more.",
        next: Some("What the next page comes after, where there is one."),
    };
}

impl Listed for WebhookDelivery {
    const PAGE: PageDoc = PageDoc {
        name: "WebhookDeliveryList",
        about: "Some deliveries.",
        data: "Newest first.",
        ..PAGED
    };
}

impl Listed for MessageDelivery {
    const PAGE: PageDoc = PageDoc {
        name: "MessageDeliveryList",
        about: "What webhooks were told of a message.",
        data: "Newest first, at most 200.",
        has_more: "Whether there are more, which the deliveries of each webhook list.",
        next: None,
    };
}
