//! Request bodies about accounts, keys and credits. The handlers read bodies as values, so that an answer can
//! name all faults at once.

use serde::Serialize;
use utoipa::ToSchema;

use super::key::{KeyMode, KeyScope};

/// A new key. Its rights must not exceed those of the key that makes the request.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Shop", "scopes": ["send"], "domains": ["example.com"]}))]
pub struct CreateKey {
    /// Name for people. Default: `key`.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// Default: `live`.
    mode: Option<KeyMode>,
    /// What the key may do. Default: `send`.
    #[schema(min_items = 1, max_items = 100)]
    scopes: Option<Vec<KeyScope>>,
    /// The sender domains that it may use. Default: all.
    #[schema(max_items = 100)]
    domains: Option<Vec<String>>,
    /// The templates that it may send. Default: all.
    #[schema(max_items = 100)]
    templates: Option<Vec<String>>,
    /// The addresses or networks that it may be used from, as in `192.0.2.0/24`. Default: any.
    #[schema(max_items = 100)]
    networks: Option<Vec<String>>,
    /// When it expires. Default: never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// The fields to change; fields left out keep their value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Shop", "networks": ["192.0.2.0/24"]}))]
pub struct ChangeKey {
    /// Name for people.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// What the key may do.
    #[schema(min_items = 1, max_items = 100)]
    scopes: Option<Vec<KeyScope>>,
    /// The sender domains that it may use; an empty list for all.
    #[schema(max_items = 100)]
    domains: Option<Vec<String>>,
    /// The templates that it may send; an empty list for all.
    #[schema(max_items = 100)]
    templates: Option<Vec<String>>,
    /// The addresses or networks that it may be used from; an empty list for any.
    #[schema(max_items = 100)]
    networks: Option<Vec<String>>,
    /// When it expires; null for never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// Credits to grant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateGrant {
    /// The account that gets the credits (`acc_…`).
    account_id: String,
    /// Number of credits.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// Reason, kept in the ledger.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// An account to open.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Acme", "plan": "pro"}))]
pub struct CreateAccount {
    /// Name for people.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// Name of a built-in plan; with `ownPlan` any name. Default: `free`.
    #[schema(pattern = "^[a-z0-9-]{1,32}$")]
    plan: Option<String>,
    /// Accept a plan name that only your own plan policy knows.
    own_plan: Option<bool>,
    /// Default sender if neither request nor template names one.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Refuse every send that would leave a variable of a template blank.
    strict: Option<bool>,
}

/// What an operator may make of an account.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "named in the document of the API")]
pub enum GivenAccountState {
    /// It may send.
    Active,
    /// Every request with one of its keys is refused.
    Suspended,
}

/// The fields to change; fields left out keep their value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"plan": "business"}))]
pub struct ChangeAccount {
    /// Name for people.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Name of a built-in plan; with `ownPlan` any name.
    #[schema(pattern = "^[a-z0-9-]{1,32}$")]
    plan: Option<String>,
    /// Accept a plan name that only your own plan policy knows.
    own_plan: Option<bool>,
    /// A suspended account sends nothing; its queued mail stays queued.
    state: Option<GivenAccountState>,
    /// Default sender if neither request nor template names one; null for none.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Whether a send is refused that would leave a variable of a template blank.
    strict: Option<bool>,
    /// The balance below which the event `credits.low` is written; null for the server's own `[credits] low`.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    credits_low: Option<i64>,
}

/// The fields to change; fields left out keep their value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"sender": "hello@example.com"}))]
pub struct ChangeOwnAccount {
    /// Name for people.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Default sender if neither request nor template names one, at a verified domain of the account; null for none.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Whether a send is refused that would leave a variable of a template blank.
    strict: Option<bool>,
    /// The balance below which the event `credits.low` is written; null for the server's own `[credits] low`.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    credits_low: Option<i64>,
}
