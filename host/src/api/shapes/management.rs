//! What requests about accounts, keys and credits hold. The handlers read bodies as values, so that an answer can
//! name all faults at once.

use serde::Serialize;
use utoipa::ToSchema;

use super::account::AccountState;
use super::key::{KeyMode, KeyScope};

/// A key to make. It gets no more than the key of the request has.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Shop", "scopes": ["send"], "domains": ["example.com"]}))]
pub struct CreateKey {
    /// What a person calls it; `key` where nothing is said.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// `live` where nothing is said.
    mode: Option<KeyMode>,
    /// What it may do; `send` where nothing is said.
    #[schema(min_items = 1, max_items = 100)]
    scopes: Option<Vec<KeyScope>>,
    /// The sender domains that it may use; all where none is named.
    #[schema(max_items = 100)]
    domains: Option<Vec<String>>,
    /// The templates that it may send; all where none is named.
    #[schema(max_items = 100)]
    templates: Option<Vec<String>>,
    /// The addresses or networks that it may be used from, as in `192.0.2.0/24`; any where none is named.
    #[schema(max_items = 100)]
    networks: Option<Vec<String>>,
    /// When it stops working; never where nothing is said.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// What is to be another; what is not named stays as it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Shop", "networks": ["192.0.2.0/24"]}))]
pub struct ChangeKey {
    /// What a person calls it.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// What it may do.
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
    /// When it stops working; null for never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// Credits to grant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateGrant {
    /// Whom; `acc_…`
    account_id: String,
    /// How many.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    amount: i64,
    /// Why; stands in the ledger.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// An account to open.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Acme", "plan": "pro"}))]
pub struct CreateAccount {
    /// What a person calls it.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// A plan that is known; `free` where nothing is said.
    #[schema(pattern = "^[a-z0-9-]{1,32}$")]
    plan: Option<String>,
    /// The plan is one of your own plan policy, whether the server knows it or not.
    own_plan: Option<bool>,
    /// The sender where neither request nor template names one.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Refuse every send that would leave a variable of a template blank.
    strict: Option<bool>,
}

/// What is to be another; what is not named stays as it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"plan": "business"}))]
pub struct ChangeAccount {
    /// What a person calls it.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// A plan that is known.
    #[schema(pattern = "^[a-z0-9-]{1,32}$")]
    plan: Option<String>,
    /// The plan is one of your own plan policy, whether the server knows it or not.
    own_plan: Option<bool>,
    /// One that is suspended sends nothing, and its waiting mail waits on.
    state: Option<AccountState>,
    /// The sender where neither request nor template names one; null for none.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Whether a send is refused that would leave a variable of a template blank.
    strict: Option<bool>,
}

/// What is to be another; what is not named stays as it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"sender": "hello@example.com"}))]
pub struct ChangeOwnAccount {
    /// What a person calls it.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// The sender where neither request nor template names one, at a verified domain of the account; null for none.
    #[schema(format = "email", max_length = 254)]
    sender: Option<String>,
    /// Whether a send is refused that would leave a variable of a template blank.
    strict: Option<bool>,
}
