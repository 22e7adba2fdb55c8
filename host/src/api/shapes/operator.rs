//! The shapes of what operators see.

use serde::Serialize;
use utoipa::ToSchema;

/// One slot of plugins.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// Its name: that of its files.
    #[serde(rename = "slot")]
    name: String,
    /// `active`, `disabled` or `empty`.
    state: String,
    /// `renderer`, `domain` or `plan`.
    kind: Option<String>,
    /// Whose calls it answers: `server`, `plan …`, `account …` or `domain …`.
    binding: Option<String>,
    /// `closed` or `builtin`.
    on_failure: Option<String>,
    /// What answers its calls.
    #[schema(value_type = Option<Object>)]
    active: Option<serde_json::Value>,
    /// What a rollback would bring back.
    #[schema(value_type = Option<Object>)]
    previous: Option<serde_json::Value>,
    /// What is on its way, or was refused and why.
    #[schema(value_type = Option<Object>)]
    candidate: Option<serde_json::Value>,
    /// What may not run again until the operator says so.
    #[schema(value_type = Vec<Object>)]
    quarantined: Vec<serde_json::Value>,
}

/// A component was put into a slot; the slot says how it goes on.
#[derive(Serialize, ToSchema)]
pub struct Installed {
    /// The slot.
    slot: String,
    /// The component, `sha256:<hex>`.
    digest: String,
}

/// What a component would change.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Recorded calls that were made to both.
    compared: u32,
    /// How many would be answered otherwise.
    would_change: u32,
    /// How many would be served worse: with no answer, a failure, or without a part.
    would_fail: u32,
    /// For a policy, how many the live one lets pass.
    pass: u32,
    /// Of those, how many would pass.
    would_pass: u32,
    /// Equal differences, each with the number of its calls, the most frequent first.
    #[schema(value_type = Vec<Object>)]
    groups: Vec<serde_json::Value>,
    /// The first differences.
    #[schema(value_type = Vec<Object>)]
    differences: Vec<serde_json::Value>,
    /// For a renderer, the published templates: how many were rendered with their examples, how many
    /// would be served worse, and the first of those.
    #[schema(value_type = Object)]
    templates: serde_json::Value,
}

/// What plugins decided for one send.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// `dec_…`
    id: String,
    /// `acc_…`
    account_id: String,
    /// `msg_…`; none for a refusal.
    message_id: Option<String>,
    /// `accepted`, or the code of the refusal.
    outcome: String,
    /// Each plugin: name, version, digest, settings revision, verdict, reason, microseconds.
    #[schema(value_type = Vec<Object>)]
    plugins: Vec<serde_json::Value>,
    /// RFC 3339.
    created_at: String,
    /// The kinds whose call was recorded and can be replayed.
    recorded: Vec<String>,
}
