//! Read-only mode.

use serde::Serialize;
use utoipa::ToSchema;

use crate::store;

/// Whether the server takes messages and changes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// Whether the server refuses messages and changes now; reading works.
    read_only: bool,
    /// Why, in the operator's words.
    #[schema(required, nullable)]
    reason: Option<String>,
    /// Since when.
    #[schema(format = "date-time", required, nullable)]
    since: Option<String>,
    /// Whether mail that waits is held, too; else delivery goes on.
    holds_delivery: bool,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Switches read-only mode on or off.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"readOnly": false}))]
pub struct ChangeMaintenance {
    /// Whether the server refuses messages and changes from now on.
    read_only: bool,
    /// Why; clients are told. Needed with `readOnly`.
    #[schema(max_length = 200)]
    reason: Option<String>,
    /// Whether mail that waits is held meanwhile. Default: false, delivery goes on.
    hold_delivery: Option<bool>,
}

impl Maintenance {
    pub fn new(known: Option<&store::Maintenance>) -> Self {
        Self {
            read_only: known.is_some(),
            reason: known.map(|it| it.reason.clone()),
            since: known.map(|it| it.since.rfc3339()),
            holds_delivery: known.is_some_and(store::Maintenance::holds_delivery),
            warnings: Vec::new(),
        }
    }
}
