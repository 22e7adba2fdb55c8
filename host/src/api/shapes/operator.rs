//! What operators see: plugins and decisions.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Page, from_row};
use crate::id::{AccountId, DecisionId, MessageId};
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::slot::{OnFailure, SlotName};
use crate::plugin::status::{
    ActiveReport, CandidateReport, NodeStatus, Quarantined, SlotStatus, Standing,
};
use crate::plugin::{Kind, Line};
use crate::store::{DecisionRow, SampleRow};

/// One slot of plugins.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// Its name: that of its files.
    #[serde(rename = "slot")]
    #[schema(value_type = String)]
    name: SlotName,
    /// `active`, `disabled` or `empty`.
    #[schema(value_type = String)]
    state: Standing,
    /// `renderer`, `domain`, `plan` or `mjml`.
    #[schema(value_type = Option<String>)]
    kind: Option<Kind>,
    /// Whose calls it answers: `server`, `plan …`, `account …` or `domain …`.
    binding: Option<String>,
    /// `closed` or `builtin`.
    #[schema(value_type = Option<String>)]
    on_failure: Option<OnFailure>,
    /// What answers its calls.
    active: Option<ActiveReport>,
    /// What a rollback would bring back.
    previous: Option<PreviousPlugin>,
    /// Whether the next start would know of all this.
    #[schema(ignore)]
    remembered: bool,
    /// What is on its way, or was refused and why.
    candidate: Option<CandidateReport>,
    /// Components that may not run again until the operator allows it.
    quarantined: Vec<Quarantined>,
    /// What each node runs; empty where the server shares its plugins with no other node.
    nodes: Vec<NodeStatus>,
}

/// What a rollback would bring back.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviousPlugin {
    /// None for the one that is built in.
    digest: Option<String>,
    settings_revision: u32,
    since: String,
}

/// A component was put into a slot; the state of the slot shows its progress.
#[derive(Serialize, ToSchema)]
pub struct Installed {
    /// The slot.
    #[schema(value_type = String)]
    pub slot: SlotName,
    /// The component, `sha256:<hex>`.
    pub digest: String,
}

/// The settings of the plugin that answers a slot's calls.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlotSettings {
    #[schema(value_type = String)]
    slot: SlotName,
    /// Counts the changes of the slot's settings.
    settings_revision: u32,
    #[schema(value_type = Object)]
    settings: Value,
    /// The JSON Schema in the plugin's manifest.
    #[schema(value_type = Object)]
    schema: Value,
}

/// What plugins decided for one send.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// `dec_…`
    #[schema(value_type = String)]
    id: DecisionId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// `msg_…`; none for a refusal.
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
    /// `accepted`, or the code of the refusal.
    outcome: String,
    /// Each plugin: name, version, digest, settings revision, verdict, reason, microseconds.
    #[schema(value_type = Vec<Object>)]
    plugins: Value,
    /// RFC 3339.
    created_at: String,
    /// The kinds whose call was recorded and can be replayed.
    #[schema(value_type = Vec<String>, required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Vec<String>>,
}

/// What plugins logged.
#[derive(Serialize)]
pub struct LogPage {
    #[serde(flatten)]
    page: Page<Line>,
    /// Lines that are missing, because there were too many.
    dropped: u64,
}

impl SlotSettings {
    pub fn of(slot: &SlotName, active: &InstalledPlugin) -> Self {
        Self {
            slot: slot.clone(),
            settings_revision: active.generation_config().settings_revision,
            settings: active.generation_config().settings.clone(),
            schema: serde_json::from_str(&active.manifest().settings_schema).unwrap_or_default(),
        }
    }
}

impl Slot {
    pub fn new(name: SlotName, view: SlotStatus) -> Self {
        let config = view.active.as_ref().map(InstalledPlugin::config);
        Self {
            name,
            state: view.standing(),
            kind: view.active.as_ref().map(InstalledPlugin::kind),
            binding: config.map(|it| it.binding.to_string()),
            on_failure: config.map(|it| it.on_failure),
            active: view.active_report(),
            candidate: view.candidate.as_ref().map(CandidateReport::from),
            quarantined: view.quarantined,
            nodes: view.nodes,
            remembered: !view.is_unsaved,
            previous: view.previous.map(|it| PreviousPlugin {
                digest: it.digest,
                settings_revision: it.settings_revision,
                since: it.since,
            }),
        }
    }
}

// One decision names the calls that were recorded; a list does not.
from_row!(row: DecisionRow => DecisionRecord {
    id, account_id, message_id, outcome, plugins, created_at: row.created_at.rfc3339(), recorded: None,
});

impl DecisionRecord {
    pub fn new(row: DecisionRow, samples: Vec<SampleRow>) -> Self {
        let recorded = samples.into_iter().map(|sample| sample.kind).collect();
        Self { recorded: Some(recorded), ..Self::from(row) }
    }
}

impl LogPage {
    pub fn new(lines: Vec<Line>, dropped: u64) -> Self {
        Self { page: Page::whole(lines), dropped }
    }
}
