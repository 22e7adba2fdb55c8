//! What requests hold. The handlers read bodies as values, so that an answer can name all faults at once.

#![expect(dead_code, reason = "requests are read as values; these are for the document")]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::webhook::WebhookState;
use crate::id::AccountId;

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
    /// The recipient's language, as in `de-AT`: the template's texts in it, else in its language, else its own.
    #[schema(max_length = 35, pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]
    locale: Option<String>,
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

/// What the send routes take beside the body.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IdempotencyKey {
    /// 1-256 visible ASCII characters; the same key and body get the first answer again for 24 hours.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 256, pattern = "^[!-~]+$")]
    idempotency_key: Option<String>,
}

/// What a change of a template takes beside the body.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IfMatch {
    /// The `etag` that was read: where the template has been changed since, the answer is 409.
    #[param(rename = "If-Match")]
    if_match: Option<String>,
}

/// Whose templates or webhooks are meant: the account's, or (scope `operator`) the server's.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    #[default]
    Account,
    Server,
}

/// What every route of templates and webhooks takes in the query.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OwnerQuery {
    /// Whose; the account's
    #[serde(default)]
    #[param(inline, required = false)]
    pub owner: Owner,
}

/// What every route that is about one account takes in the query.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AccountQuery {
    /// Whose, with the scope `operator`; the key's own account
    #[param(inline)]
    pub account: Option<AccountId>,
}

/// How far an import goes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportGoal {
    Check,
    Drafts,
    Publish,
}

/// The sender domain to add to the account.
#[derive(Serialize, ToSchema)]
pub struct AddDomain {
    /// As in `example.com`.
    #[schema(min_length = 3, max_length = 253)]
    name: String,
    /// Count it as verified; its mail can only reach the sandbox inbox.
    sandbox: Option<bool>,
}

/// The fields to change; fields left out keep their value, and null clears a value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"productName": "Tern & Co", "brandColor": "#23695e"}))]
pub struct ChangeBrand {
    /// One line.
    #[schema(nullable, min_length = 1, max_length = 100)]
    product_name: Option<String>,
    /// Of http or https.
    #[schema(nullable, format = "uri", max_length = 2000)]
    product_url: Option<String>,
    /// An e-mail address.
    #[schema(nullable, format = "email", max_length = 254)]
    support_email: Option<String>,
    /// One line.
    #[schema(nullable, min_length = 1, max_length = 300)]
    company_address: Option<String>,
    /// Hexadecimal; dark enough for white text (4.5:1).
    #[schema(nullable, pattern = "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$")]
    brand_color: Option<String>,
    /// Of https.
    #[schema(nullable, format = "uri", max_length = 2000)]
    logo_url: Option<String>,
}

/// An address to suppress.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSuppression {
    /// The address; letter case does not matter.
    #[schema(format = "email", max_length = 254)]
    address: String,
    /// Why, in your own words.
    #[schema(max_length = 500)]
    reason: Option<String>,
    /// When the entry expires. Default: never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// Addresses to suppress.
#[derive(Serialize, ToSchema)]
pub struct NewSuppressions {
    /// From 1 to 1,000.
    #[schema(min_items = 1, max_items = 1000)]
    data: Vec<NewSuppression>,
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

/// The fields to change; fields left out keep their value.
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
    /// An active webhook gets the events from its activation on. Waiting deliveries of a disabled one fail, and can be
    /// replayed.
    state: Option<WebhookState>,
}

/// The time whose failed deliveries are posted once more.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWebhook {
    /// From when.
    #[schema(format = "date-time")]
    since: String,
    /// The end of the span, not before `since`. Default: now.
    #[schema(format = "date-time")]
    until: Option<String>,
}
