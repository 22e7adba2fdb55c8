//! The shapes of sender domains.

use serde::Serialize;
use utoipa::ToSchema;

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
