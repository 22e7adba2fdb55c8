//! What this node knows of the slots that it shares with other nodes, beside the slots' machines: what stands in the
//! database of each, what is being loaded, and what every node reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::machine::{Machine, PluginVersion};
use crate::clock::log_throttle::LogThrottle;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::shared::{
    FailedVersion, Given, NodeReport, NodeSlot, Promotion, Shared, SharedCandidate, SharedError,
    SharedSlot, SharedSlots, VersionMark,
};
use crate::plugin::slots::slot_store::within;
use crate::plugin::slots::state::{SlotState, Stored};
use crate::plugin::slots::status::{CandidateStatus, NodeState, NodeStatus};

/// How often a node says that it lives, though nothing has changed.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// After that time a version that could not be loaded is tried again.
const RETRY_LOADING: Duration = Duration::from_secs(30);
/// Characters of a reason that other nodes show.
const MAX_REASON_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct Nodes {
    shared: Arc<dyn SharedSlots>,
    slots: BTreeMap<SlotName, Known>,
    /// What the nodes that live reported last.
    reports: BTreeMap<String, NodeReport>,
    reported: Option<(Instant, NodeReport)>,
    log_lines: LogThrottle<String>,
}

/// What is known of a slot.
#[derive(Debug, Default)]
pub struct Known {
    /// The number of the change that was read or written last; 0 where the slot is not in the database.
    generation: i64,
    /// What the slot was given last, by an order or by files of any node.
    pub given: Option<Given>,
    /// Fingerprints of files that nodes have found: none is examined twice.
    found: Vec<String>,
    pub candidate: Option<SharedCandidate>,
    pub promotion: Option<Promotion>,
    /// The version of the promotion, once it is loaded.
    pub prepared: Option<PluginVersion>,
    loading: Vec<VersionMark>,
    failed: Vec<(Instant, FailedVersion)>,
}

/// What becomes of a promotion that this node is to decide.
#[derive(Debug)]
pub enum Verdict {
    /// All nodes have loaded the version.
    Complete,
    /// One of them cannot.
    Failed { node: String, reason: String },
}

/// A slot as another node has written it.
#[derive(Debug)]
pub struct Change {
    pub slot: SlotName,
    pub generation: i64,
    pub content: SharedSlot,
}

impl Nodes {
    #[must_use]
    pub fn new(shared: Arc<dyn SharedSlots>) -> Self {
        Self {
            shared,
            slots: BTreeMap::new(),
            reports: BTreeMap::new(),
            reported: None,
            log_lines: LogThrottle::default(),
        }
    }

    /// The name of this node.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.node()
    }

    /// What is known of a slot; nothing of a new one.
    pub fn of(&mut self, slot: &SlotName) -> &mut Known {
        self.slots.entry(slot.clone()).or_default()
    }

    /// What other nodes have written since the last look.
    pub async fn changes(&mut self) -> Shared<Vec<Change>> {
        let shared = Arc::clone(&self.shared);
        let mut changes = Vec::new();
        for (name, generation) in within(shared.generations()).await? {
            let Ok(slot) = name.parse::<SlotName>() else { continue };
            if self.slots.get(&slot).is_some_and(|it| it.generation == generation) {
                continue;
            }
            let Some((generation, text)) = within(shared.slot(&name)).await? else { continue };
            match serde_json::from_str(&text) {
                Ok(content) => changes.push(Change { slot, generation, content }),
                Err(error) => {
                    if self.log_lines.admit(name, Instant::now()) {
                        tracing::error!(%slot, %error, "cannot read what another node wrote of a plugin slot; this node keeps what it runs");
                    }
                }
            }
        }
        Ok(changes)
    }

    /// Takes over what stands in the database of a slot, but for the state, which it answers.
    pub fn take(&mut self, change: Change) -> SlotState {
        let SharedSlot { state, given, found, candidate, promotion } = change.content;
        let known = self.of(&change.slot);
        known.generation = change.generation;
        (known.given, known.found) = (given, found);
        (known.candidate, known.promotion) = (candidate, promotion);
        state
    }

    /// Writes a slot; answers whether it was as this node has seen it.
    pub async fn save(&mut self, slot: &SlotName, state: SlotState) -> Shared<bool> {
        let shared = Arc::clone(&self.shared);
        let known = self.of(slot);
        let content = SharedSlot {
            state,
            given: known.given.clone(),
            found: known.found.clone(),
            candidate: known.candidate.clone(),
            promotion: known.promotion.clone(),
        };
        let text = serde_json::to_string(&content).map_err(SharedError::new)?;
        let saved = within(shared.save(slot.as_str(), known.generation, &text)).await?;
        if let Some(generation) = saved {
            known.generation = generation;
        }
        Ok(saved.is_some())
    }

    /// Says what this node runs, where that has changed or is due, and reads what the others say. Answers whether any of
    /// that is new.
    pub async fn exchange(&mut self, report: NodeReport) -> Shared<bool> {
        let is_due = self
            .reported
            .as_ref()
            .is_none_or(|(at, before)| at.elapsed() >= REPORT_INTERVAL || *before != report);
        if is_due {
            let text = serde_json::to_string(&report).map_err(SharedError::new)?;
            within(self.shared.report(&text)).await?;
            self.reported = Some((Instant::now(), report));
        }
        let read = |(node, text): (String, String)| {
            (node, serde_json::from_str::<NodeReport>(&text).unwrap_or_default())
        };
        let reports: BTreeMap<String, NodeReport> =
            within(self.shared.nodes()).await?.into_iter().map(read).collect();
        let is_new = reports != self.reports;
        self.reports = reports;
        Ok(is_new)
    }

    /// Tells the others not to wait for this node.
    pub async fn leave(&self) {
        if let Err(error) = within(self.shared.leave()).await {
            tracing::warn!(%error, "this node stops and could not tell the other nodes so; they may wait some seconds for it before they activate a plugin");
        }
    }

    /// Logs that the database does not answer, once a minute.
    pub fn complain(&mut self, error: &SharedError) {
        if self.log_lines.admit(String::new(), Instant::now()) {
            tracing::error!(%error, "cannot share the plugins with other nodes; active plugins stay in service; retrying");
        }
    }

    /// What this node says of a slot.
    #[must_use]
    pub fn report_of(&self, machine: &Machine) -> NodeSlot {
        let known = self.slots.get(machine.slot());
        let wanted = known.and_then(|it| it.promotion.as_ref()).map(|it| &it.version);
        let wanted = [wanted, machine.state().active.as_ref()].map(|it| it.map(VersionMark::of));
        let failed = known.map(|it| it.failed.iter().map(|(_, failed)| failed));
        NodeSlot {
            runs: machine.active().map(|it| VersionMark::of(&it.stored)),
            ready: known.and_then(|it| it.prepared.as_ref()).map(|it| VersionMark::of(&it.stored)),
            failed: failed
                .into_iter()
                .flatten()
                .find(|it| wanted.iter().flatten().any(|wanted| *wanted == it.version))
                .cloned(),
        }
    }

    /// What each node runs in a slot.
    #[must_use]
    pub fn statuses(&self, machine: &Machine) -> Vec<NodeStatus> {
        let slot = machine.slot();
        let runs = machine.state().active.as_ref().map(VersionMark::of);
        let known = self.slots.get(slot);
        let promoted = known.and_then(|it| it.promotion.as_ref());
        let promoted = promoted.map(|it| VersionMark::of(&it.version));
        let status = |(node, report): (&String, &NodeReport)| {
            let this = node == self.name();
            // What this node runs is known before it is reported.
            let reported = || report.0.get(slot.as_str()).cloned().unwrap_or_default();
            let it = if this { self.report_of(machine) } else { reported() };
            let state = match &promoted {
                _ if it.failed.is_some() => NodeState::Failed,
                _ if it.runs != runs => NodeState::Behind,
                Some(_) if it.ready == promoted => NodeState::Ready,
                Some(_) => NodeState::Loading,
                None => NodeState::Active,
            };
            NodeStatus {
                this,
                node: node.clone(),
                state,
                settings_revision: it.runs.as_ref().map(|it| it.settings_revision),
                digest: it.runs.and_then(|it| it.digest),
                reason: it.failed.map(|it| it.reason),
            }
        };
        self.reports.iter().map(status).collect()
    }

    /// What is on its way in a slot, where this node does not examine it.
    #[must_use]
    pub fn candidate(&self, slot: &SlotName) -> Option<CandidateStatus> {
        let known = self.slots.get(slot)?;
        if let Some(promotion) = &known.promotion {
            return Some(CandidateStatus {
                digest: promotion.version.digest.clone(),
                settings_revision: Some(promotion.version.settings_revision),
                name: promotion.name.clone(),
                stage: Stage::Loading,
                ..CandidateStatus::new()
            });
        }
        let candidate = known.candidate.as_ref()?;
        let mut shown = candidate.status();
        let is_under_way = candidate.version.is_none() && candidate.rejected.is_none();
        let lives =
            candidate.node == self.name() || self.reports.contains_key(candidate.node.as_str());
        if is_under_way && !lives {
            let node = &candidate.node;
            shown.rejected = Some(format!(
                "the node {node} stopped before it had proven the plugin; install it again"
            ));
        }
        Some(shown)
    }

    /// What the slots were given whose candidates were proven by a node that is gone, and are now for this one to prove.
    /// A candidate that was not proven may be what has ended that node, and stays rejected.
    #[must_use]
    pub fn orphans(&self) -> Vec<(SlotName, Given)> {
        let is_for_this = |candidate: &SharedCandidate| {
            let is_there = self.reports.contains_key(&candidate.node);
            candidate.version.is_some() && !is_there && self.is_first()
        };
        let orphans = self.slots.iter().filter_map(|(slot, known)| {
            known.candidate.as_ref().filter(|it| is_for_this(it))?;
            Some((slot.clone(), known.given.clone()?))
        });
        orphans.collect()
    }

    /// Promotions that this node is to decide and that can be decided now.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(SlotName, Verdict)> {
        let decided = self.slots.iter().filter_map(|(slot, known)| {
            let promotion = known.promotion.as_ref()?;
            if !self.decides(promotion) {
                return None;
            }
            Some((slot.clone(), self.verdict(slot, known, promotion)?))
        });
        decided.collect()
    }

    /// The node that began a promotion decides; where that is gone, the first one that lives.
    fn decides(&self, promotion: &Promotion) -> bool {
        let is_there = self.reports.contains_key(&promotion.node);
        if is_there { promotion.node == self.name() } else { self.is_first() }
    }

    /// Whether this node does what a node leaves behind.
    fn is_first(&self) -> bool {
        self.reports.keys().next().is_some_and(|first| first == self.name())
    }

    fn verdict(&self, slot: &SlotName, known: &Known, promotion: &Promotion) -> Option<Verdict> {
        let version = VersionMark::of(&promotion.version);
        let own = known.failed.iter().find(|(_, it)| it.version == version);
        if let Some((_, failed)) = own {
            let (node, reason) = (self.name().to_owned(), failed.reason.clone());
            return Some(Verdict::Failed { node, reason });
        }
        let mut is_complete = known.prepared.is_some();
        for (node, report) in self.reports.iter().filter(|(node, _)| *node != self.name()) {
            let said = report.0.get(slot.as_str());
            if let Some(failed) = said.and_then(|it| it.failed.as_ref())
                && failed.version == version
            {
                let reason = failed.reason.clone();
                return Some(Verdict::Failed { node: node.clone(), reason });
            }
            is_complete &= said.is_some_and(|it| it.ready.as_ref() == Some(&version));
        }
        is_complete.then_some(Verdict::Complete)
    }

    /// The components that are named beside the states of the slots.
    #[must_use]
    pub fn named(&self) -> Vec<String> {
        let named = self.slots.values().flat_map(|it| {
            let given = it.given.as_ref().and_then(|it| it.digest.clone());
            let candidate = it.candidate.as_ref().and_then(|it| it.digest.clone());
            let promoted = it.promotion.as_ref().and_then(|it| it.version.digest.clone());
            [given, candidate, promoted]
        });
        named.flatten().collect()
    }
}

impl Known {
    /// Fingerprints of files that nodes have found.
    #[must_use]
    pub fn found(&self) -> &[String] {
        &self.found
    }

    /// Remembers files that were found; answers whether they were new.
    pub fn remember(&mut self, fingerprint: String) -> bool {
        SharedSlot::remember(&mut self.found, fingerprint)
    }

    /// Keeps the version of the promotion among those that are loaded.
    pub fn prepare(&mut self, loaded: &[PluginVersion]) {
        let Some(promotion) = &self.promotion else {
            self.prepared = None;
            return;
        };
        let is_wanted = |it: &&PluginVersion| it.stored.is_same(&promotion.version);
        let kept = self.prepared.take().filter(|it| it.stored.is_same(&promotion.version));
        self.prepared = kept.or_else(|| loaded.iter().find(is_wanted).cloned());
    }

    /// The version of the promotion, where it is not loaded.
    #[must_use]
    pub fn unprepared(&self) -> Option<Stored> {
        let promotion = self.promotion.as_ref().filter(|_| self.prepared.is_none())?;
        Some(promotion.version.clone())
    }

    /// Whether a version is to be loaded now: not while it is being loaded, and not soon after that has failed.
    pub fn begin_loading(&mut self, version: &Stored) -> bool {
        let mark = VersionMark::of(version);
        self.failed.retain(|(at, _)| at.elapsed() < RETRY_LOADING);
        if self.loading.contains(&mark) || self.failed.iter().any(|(_, it)| it.version == mark) {
            return false;
        }
        self.loading.push(mark);
        true
    }

    /// A version was loaded, or cannot be.
    pub fn end_loading(&mut self, version: &Stored, error: Option<&LoadError>) {
        let mark = VersionMark::of(version);
        self.loading.retain(|it| *it != mark);
        if let Some(error) = error {
            let reason = error.to_string().chars().take(MAX_REASON_CHARS).collect();
            self.failed.push((Instant::now(), FailedVersion { version: mark, reason }));
        }
    }
}
