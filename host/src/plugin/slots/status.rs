//! What everybody may see of the slots at any moment: lists, health, metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use super::state::{Quarantined, Stored};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::{Report, Shadow};
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
}

/// A component on its way to be live, or one that did not make it.
#[derive(Debug, Clone)]
pub struct CandidateStatus {
    /// Its digest, as soon as it was read.
    pub digest: Option<String>,
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
    /// A candidate that nobody has looked at.
    #[must_use]
    pub fn new() -> Self {
        Self {
            digest: None,
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

    /// For health pages: what answers, and what is wrong.
    #[must_use]
    pub fn brief(&self, slot: &SlotName) -> Value {
        let identity = self.active.as_ref().map(InstalledPlugin::identity);
        let candidate = self.candidate.as_ref();
        json!({
            "slot": slot,
            "state": self.standing(),
            "kind": self.active.as_ref().map(InstalledPlugin::kind),
            "name": identity.map(|it| &it.name),
            "version": identity.map(|it| &it.version),
            "digest": identity.map(|it| &it.digest),
            "settingsRevision": identity.map(|it| it.settings_revision),
            "candidate": candidate.map(|it| it.stage),
            "rejected": candidate.is_some_and(|it| it.rejected.is_some()),
            "trapped": self.active.as_ref().map(|it| it.stats().trapped()),
            "gaveUp": self.active.as_ref().map(|it| it.stats().gave_up()),
        })
    }

    /// What answers its calls, in the members of the API.
    #[must_use]
    pub fn active_json(&self) -> Option<Value> {
        let active = self.active.as_ref()?;
        let (identity, recipe, stats) = (active.identity(), active.recipe(), active.stats());
        Some(json!({
            "name": identity.name,
            "version": identity.version,
            "digest": identity.digest,
            "settingsRevision": identity.settings_revision,
            "settings": recipe.settings,
            "limits": {
                "callMs": recipe.limits.call_ms,
                "prepareMs": recipe.limits.prepare_ms,
                "memoryBytes": recipe.limits.memory_bytes,
                "outputBytes": recipe.limits.output_bytes,
            },
            "summary": active.manifest().summary,
            "builtin": self.is_builtin,
            "since": self.since,
            "shadow": self.shadow,
            "calls": stats.calls(),
            "trapped": stats.trapped(),
            "gaveUp": stats.gave_up(),
            "inputsInQuarantine": stats.inputs_in_quarantine(),
            "cpuMicros": u64::try_from(active.cpu(CallPurpose::Service).as_micros()).unwrap_or(u64::MAX),
        }))
    }
}

impl CandidateStatus {
    /// In the members of the API.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "digest": self.digest,
            "name": self.name,
            "stage": self.stage,
            "rejected": self.rejected,
            "waits": self.waits,
            "impact": self.impact,
            "shadow": self.shadow.as_ref().map(|it| it.report()),
        })
    }
}
