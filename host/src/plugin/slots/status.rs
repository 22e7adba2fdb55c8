//! What everybody may see of the slots at any moment: lists, health, metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

pub use super::state::Quarantined;
use super::state::Stored;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::{Report, Shadow};
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::CallLimits;
use crate::plugin::runtime::log::CallPurpose;
use crate::plugin::runtime::stage::Stage;

/// The status of every slot. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Statuses(Arc<Mutex<BTreeMap<SlotName, SlotStatus>>>);

#[derive(Debug, Clone, Default)]
pub struct SlotStatus {
    /// What answers its calls; none where nothing was ever good.
    pub active: Option<InstalledPlugin>,
    /// Since when, RFC 3339; none for what the server brought itself.
    pub since: Option<String>,
    /// What came of the active one's calls in the shadow, before it was live.
    pub shadow: Option<Report>,
    /// Whether the active one is the plugin that the server brought itself.
    pub is_builtin: bool,
    /// What a rollback would bring back.
    pub previous: Option<Stored>,
    /// Whether the operator switched it off.
    pub disabled: bool,
    /// What is on its way.
    pub candidate: Option<CandidateStatus>,
    /// What may not run again.
    pub quarantined: Vec<Quarantined>,
    /// Whether the next start would not know of all this, because it could not be written.
    pub is_unsaved: bool,
    /// What each node runs; empty where the server shares its plugins with no other node.
    pub nodes: Vec<NodeStatus>,
}

/// A component on its way to be live, or one that did not make it.
#[derive(Debug, Clone)]
pub struct CandidateStatus {
    /// The node that examines it, where that is another one.
    pub node: Option<String>,
    /// Its digest, as soon as it was read.
    pub digest: Option<String>,
    /// The revision of its settings, where it waits.
    pub settings_revision: Option<u32>,
    /// Its name and version, as soon as it said them.
    pub name: Option<String>,
    pub stage: Stage,
    /// Why it came no further.
    pub rejected: Option<String>,
    /// Why it waits for the operator.
    pub waits: Option<String>,
    /// What would change.
    pub impact: Option<Impact>,
    /// The comparison with live calls.
    pub shadow: Option<Arc<Shadow>>,
}

/// Where a slot stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It answers calls.
    Active,
    /// The operator switched it off.
    Disabled,
    /// Nothing was good yet: calls go to a broader plugin.
    Empty,
}

impl Statuses {
    pub fn show(&self, slot: &SlotName, view: SlotStatus) {
        self.lock().insert(slot.clone(), view);
    }

    /// Takes a slot away.
    pub fn remove(&self, slot: &SlotName) {
        self.lock().remove(slot);
    }

    /// Changes what is shown of a slot's candidate.
    pub fn candidate(&self, slot: &SlotName, change: impl FnOnce(&mut CandidateStatus)) {
        if let Some(view) = self.lock().get_mut(slot) {
            change(view.candidate.get_or_insert_with(CandidateStatus::new));
        }
    }

    #[must_use]
    pub fn slot(&self, slot: &SlotName) -> Option<SlotStatus> {
        self.lock().get(slot).cloned()
    }

    /// All slots, by name.
    #[must_use]
    pub fn slots(&self) -> Vec<(SlotName, SlotStatus)> {
        self.lock().iter().map(|(name, view)| (name.clone(), view.clone())).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<SlotName, SlotStatus>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CandidateStatus {
    /// A candidate before its validation.
    #[must_use]
    pub fn new() -> Self {
        Self {
            node: None,
            digest: None,
            settings_revision: None,
            name: None,
            stage: Stage::Settling,
            rejected: None,
            waits: None,
            impact: None,
            shadow: None,
        }
    }
}

impl Default for CandidateStatus {
    fn default() -> Self {
        Self::new()
    }
}

impl SlotStatus {
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (&self.active, self.disabled) {
            (_, true) => Standing::Disabled,
            (Some(_), false) => Standing::Active,
            (None, false) => Standing::Empty,
        }
    }

    /// The components and settings that an order can be about: what is active, what waits and what was before. Another
    /// mark means that one of them is another one.
    #[must_use]
    pub fn mark(&self) -> String {
        let of = |digest: Option<&str>, settings: Option<u32>| {
            let digest = digest.unwrap_or("none");
            settings.map_or_else(|| digest.to_owned(), |settings| format!("{digest}+{settings}"))
        };
        let active = self.active.as_ref().map(InstalledPlugin::identity);
        let waiting = self.candidate.as_ref();
        [
            of(active.map(|it| it.digest.as_str()), active.map(|it| it.settings_revision)),
            of(
                waiting.and_then(|it| it.digest.as_deref()),
                waiting.and_then(|it| it.settings_revision),
            ),
            of(
                self.previous.as_ref().and_then(|it| it.digest.as_deref()),
                self.previous.as_ref().map(|it| it.settings_revision),
            ),
        ]
        .join("/")
    }

    /// For health pages: what answers, and what is wrong.
    #[must_use]
    pub fn brief(&self, slot: &SlotName) -> SlotHealth {
        let active = self.active.as_ref();
        let identity = active.map(InstalledPlugin::identity);
        let candidate = self.candidate.as_ref();
        SlotHealth {
            slot: slot.clone(),
            state: self.standing(),
            kind: active.map(InstalledPlugin::kind),
            name: identity.map(|it| it.name.clone()),
            version: identity.map(|it| it.version.clone()),
            digest: identity.map(|it| it.digest.clone()),
            settings_revision: identity.map(|it| it.settings_revision),
            candidate: candidate.map(|it| it.stage),
            rejected: candidate.is_some_and(|it| it.rejected.is_some()),
            trapped: active.map(|it| it.stats().failed()),
            gave_up: active.map(|it| it.stats().gave_up()),
        }
    }

    /// What answers its calls, for lists.
    #[must_use]
    pub fn active_report(&self) -> Option<ActiveReport> {
        let active = self.active.as_ref()?;
        let (identity, recipe, stats) =
            (active.identity(), active.generation_config(), active.stats());
        let cpu = active.cpu(CallPurpose::Service).as_micros();
        Some(ActiveReport {
            name: identity.name.clone(),
            version: identity.version.clone(),
            digest: identity.digest.clone(),
            settings_revision: identity.settings_revision,
            settings: recipe.settings.clone(),
            limits: recipe.limits.into(),
            summary: active.manifest().summary.clone(),
            builtin: self.is_builtin,
            since: self.since.clone(),
            shadow: self.shadow.clone(),
            calls: stats.calls(),
            trapped: stats.failed(),
            gave_up: stats.gave_up(),
            inputs_in_quarantine: stats.inputs_in_quarantine(),
            cpu_micros: u64::try_from(cpu).unwrap_or(u64::MAX),
        })
    }
}

/// A slot on health pages.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotHealth {
    slot: SlotName,
    state: Standing,
    kind: Option<Kind>,
    name: Option<String>,
    version: Option<String>,
    digest: Option<String>,
    settings_revision: Option<u32>,
    /// The stage of the candidate.
    candidate: Option<Stage>,
    /// Whether the candidate was rejected.
    pub rejected: bool,
    trapped: Option<u64>,
    gave_up: Option<u64>,
}

/// What answers the calls of a slot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ActivePlugin)]
#[serde(rename_all = "camelCase")]
pub struct ActiveReport {
    /// The plugin's name, in its own words.
    name: String,
    /// The plugin's version.
    version: String,
    /// The component, `sha256:<hex>`.
    digest: String,
    /// The number of its settings; the empty settings are 0.
    settings_revision: u32,
    /// Its settings.
    settings: Value,
    /// The limits of its calls.
    limits: LimitsReport,
    /// What it does, in its own words.
    summary: String,
    /// Whether the server brought it.
    builtin: bool,
    /// Since when it answers, RFC 3339; none where the server brought it.
    since: Option<String>,
    /// The comparison with live calls before its activation.
    pub shadow: Option<Report>,
    /// Calls that it answered or failed.
    calls: u64,
    /// Calls that trapped.
    trapped: u64,
    /// Calls that were given up because a limit was reached.
    gave_up: u64,
    /// Inputs that are not given to it any more, because they made it trap.
    pub inputs_in_quarantine: usize,
    /// Processor time of its calls, in microseconds.
    cpu_micros: u64,
}

/// The limits of its calls. The configuration writes the same names with underscores.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PluginLimits)]
#[serde(rename_all = "camelCase")]
struct LimitsReport {
    /// Time of a call, in milliseconds.
    call_ms: u64,
    /// Time to compile a template, to configure, and of a self-test, in milliseconds.
    prepare_ms: u64,
    /// Memory of an instance.
    memory_bytes: usize,
    /// Octets of an answer.
    output_bytes: usize,
}

impl From<CallLimits> for LimitsReport {
    fn from(limits: CallLimits) -> Self {
        let CallLimits { call_ms, prepare_ms, memory_bytes, output_bytes } = limits;
        Self { call_ms, prepare_ms, memory_bytes, output_bytes }
    }
}

/// What one of several nodes runs in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PluginOnNode)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// The node.
    pub node: String,
    /// Whether it is the node that answers this request.
    pub this: bool,
    /// `active`, `loading`, `ready` for a version that is about to become active, `behind` or `failed`.
    #[schema(value_type = String)]
    pub state: NodeState,
    /// The component that it runs; none for a plugin that is built in, or one of a broader slot.
    pub digest: Option<String>,
    /// The number of the settings.
    pub settings_revision: Option<u32>,
    /// Why it cannot load what it should run.
    pub reason: Option<String>,
}

/// How far a node is with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It runs what the slot runs.
    Active,
    /// It loads the version that is about to become active.
    Loading,
    /// It has loaded that version.
    Ready,
    /// It runs something else than the slot, for now.
    Behind,
    /// It cannot load what it should run.
    Failed,
}

/// A candidate, for lists.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CandidatePlugin)]
pub struct CandidateReport {
    /// The node that examines it; none where that is this one.
    node: Option<String>,
    /// The component, `sha256:<hex>`; none until it was read.
    digest: Option<String>,
    /// Its name and version; none until it said them.
    name: Option<String>,
    /// `settling`, `inspecting`, `compiling`, `linking`, `configuring`, `testing`, `impact`, `shadow`, `waiting` or
    /// `loading`.
    #[schema(value_type = String)]
    stage: Stage,
    /// Why it came no further.
    rejected: Option<String>,
    /// Why it waits for the operator.
    waits: Option<String>,
    /// What it would change.
    impact: Option<Impact>,
    /// The comparison with live calls.
    shadow: Option<Report>,
}

impl From<&CandidateStatus> for CandidateReport {
    fn from(candidate: &CandidateStatus) -> Self {
        Self {
            node: candidate.node.clone(),
            digest: candidate.digest.clone(),
            name: candidate.name.clone(),
            stage: candidate.stage,
            rejected: candidate.rejected.clone(),
            waits: candidate.waits.clone(),
            impact: candidate.impact.clone(),
            shadow: candidate.shadow.as_ref().map(|it| it.report()),
        }
    }
}
