//! The shapes of webhooks, their deliveries, and what is posted to them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// Whose webhooks are meant: the account's, or (scope `operator`) the server's.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookOwner {
    Account,
    Server,
}

/// A webhook to make.
#[derive(Serialize, ToSchema)]
pub struct CreateWebhook {
    /// `https://…`; no user name, no fragment, no address that is not public.
    #[schema(min_length = 1, max_length = 2048)]
    url: String,
    /// In your own words.
    #[schema(max_length = 500)]
    description: Option<String>,
    /// The wanted types of events: a type, a group as in `message.*`, or `*`. None or empty: all.
    #[schema(max_items = 50)]
    types: Option<Vec<String>>,
}

/// What is to be another.
#[derive(Serialize, ToSchema)]
pub struct ChangeWebhook {
    /// `https://…`
    #[schema(min_length = 1, max_length = 2048)]
    url: Option<String>,
    /// In your own words.
    #[schema(max_length = 500)]
    description: Option<String>,
    /// The wanted types of events.
    #[schema(max_items = 50)]
    types: Option<Vec<String>>,
    /// One that is activated is told what happens from then on; what waits for one that is disabled
    /// fails, and can be replayed.
    state: Option<WebhookState>,
}

/// Whether a webhook is told anything.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookState {
    Active,
    Disabled,
}

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

/// What a delivery can be.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    Pending,
    Delivered,
    Failed,
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

/// The time whose failed deliveries are posted once more.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhook {
    /// From when.
    #[schema(format = "date-time")]
    since: String,
    /// To when, and not before `since`; now where nothing is said.
    #[schema(format = "date-time")]
    until: Option<String>,
}

/// How many deliveries are posted once more.
#[derive(Serialize, ToSchema)]
pub struct Replayed {
    /// How many.
    replayed: u64,
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

/// The facts of an event.
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
