//! The shapes of sender domains.

use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use super::Problem;

/// A domain to add.
#[derive(Serialize, ToSchema)]
pub struct AddDomain {
    /// As in `example.com`.
    #[schema(min_length = 3, max_length = 253)]
    name: String,
    /// Count it as verified; its mail can only reach the sandbox inbox.
    sandbox: Option<bool>,
}

/// A sender domain.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Domain {
    /// `dom_…`
    id: String,
    /// `acc_…`
    account_id: String,
    /// A-labels.
    name: String,
    /// The same as its holder writes it.
    unicode_name: String,
    /// `dns` or `sandbox`.
    kind: String,
    /// `pending`, `verified`, `warned`, `degraded` or `failed`.
    state: String,
    /// Since when, RFC 3339.
    since: String,
    /// Whether mail may be sent from it.
    verified: bool,
    /// Satisfied of required records, in percent.
    #[schema(maximum = 100)]
    progress: u8,
    /// What is required and not satisfied.
    missing: Vec<String>,
    /// `warned`: until when it sends, RFC 3339.
    sends_until: Option<String>,
    /// RFC 3339.
    created_at: String,
    /// What to publish, and what was seen of it.
    records: Vec<DomainRecord>,
    /// Its DKIM keys.
    #[schema(value_type = Vec<Object>)]
    dkim: Vec<serde_json::Value>,
    /// When it was last looked at, RFC 3339.
    checked_at: Option<String>,
    /// When it will be, RFC 3339; none where only on demand.
    next_check_at: Option<String>,
    /// Since when required records cannot be seen, RFC 3339.
    unclear_since: Option<String>,
    /// Why the last check came to no judgement.
    failure: Option<String>,
    /// The look-ups of the last check: exact data, resolver, time.
    #[schema(value_type = Vec<Object>)]
    lookups: Vec<serde_json::Value>,
    /// Members of the request that mean nothing here.
    warnings: Option<Vec<String>>,
    /// The record of the judgement.
    #[schema(value_type = Object)]
    decision: serde_json::Value,
    /// What happened to it, newest first.
    #[schema(value_type = Vec<Object>)]
    events: Vec<serde_json::Value>,
}

/// One record to publish.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainRecord {
    /// The policy's identifier.
    id: String,
    /// `ownership`, `DKIM`, `SPF`, `DMARC`, `return path`, …
    purpose: String,
    /// Whether the domain sends only with it.
    required: bool,
    /// `TXT`, `CNAME`, …
    r#type: String,
    /// Where.
    name: String,
    /// What.
    value: String,
    /// What it is for and how to publish it.
    help: String,
    /// `satisfied`, `missing`, `wrong`, `propagating`, `unknown` or `unchecked`.
    status: String,
    /// What was seen.
    found: Vec<String>,
    /// What was expected and what to change.
    hint: Option<String>,
    /// `next` for the record of a key that will sign once it was seen, `retired` for one that signs no
    /// more.
    rotation: Option<String>,
}

/// A domain that is gone.
#[derive(Serialize, ToSchema)]
pub struct DeletedDomain {
    /// `dom_…`
    id: String,
    /// Its name.
    name: String,
    /// Always true.
    deleted: bool,
}

/// The refusals of the account holder's routes.
#[derive(IntoResponses)]
pub enum AdminRefusals {
    /// `BAD_REQUEST`
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `FORBIDDEN`: the key has not the scope `admin`, or not for this domain; or the account has as
    /// many domains as it may have.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `NOT_FOUND`
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(Problem),
    /// `REQUEST_TIMEOUT`: the body did not arrive in time.
    #[response(status = 408, content_type = "application/problem+json")]
    RequestTimeout(Problem),
    /// `CONFLICT`: there is one already, or it is a sandbox domain.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `PAYLOAD_TOO_LARGE`
    #[response(status = 413, content_type = "application/problem+json")]
    PayloadTooLarge(Problem),
    /// `UNSUPPORTED_MEDIA_TYPE`: not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
    /// `RATE_LIMITED`: too much under way, or too many failed logins.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: the policy or the store gives no answer, or the server is shutting down.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
