//! A node among others that share its slots: it takes over what they have written, loads what it lacks, and makes a
//! version active once all of them have loaded it.

use std::sync::Arc;

use super::jobs::LoadedVersion;
use super::machine::{Approval, Cause, Machine, PluginVersion};
use super::nodes::{Change, Known, Nodes, Verdict};
use super::{RunningJobs, SlotSupervisor, jobs};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::orders::OrderError;
use crate::plugin::slots::shared::{Given, NodeReport, Promotion, SharedCandidate};
use crate::plugin::slots::state::Stored;
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};

/// What the order to activate means for a candidate of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// It is on its way to be active.
    Promoted,
    /// It was rejected there; what was given is examined here.
    Rejected,
    /// No other node has one.
    Nothing,
}

impl SlotSupervisor {
    /// Takes over what other nodes have written, and says what this one runs.
    pub(super) async fn sync(&mut self, work: &mut RunningJobs) {
        let Some(nodes) = &mut self.nodes else { return };
        match nodes.changes().await {
            Ok(changes) => {
                for change in changes {
                    self.adopt(change, work);
                }
            }
            Err(error) => {
                nodes.complain(&error);
                return;
            }
        }
        self.load_missing(work);
        let Some(nodes) = &mut self.nodes else { return };
        let slots = self.machines.all().map(|it| (it.slot().to_string(), nodes.report_of(it)));
        let report = NodeReport(slots.collect());
        match nodes.exchange(report).await {
            Ok(false) => {}
            Ok(true) => self.show_all(),
            Err(error) => nodes.complain(&error),
        }
    }

    /// Examines anew what another node had proven and would have activated, shadowed or held ready. That node is gone.
    pub(super) fn take_over_candidates(
        &mut self,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let orphans = self.nodes.as_ref().map(Nodes::orphans).unwrap_or_default();
        for (slot, given) in orphans {
            if self.machines.of(&slot).is_examining() {
                continue;
            }
            tracing::info!(%slot, "the node that had validated the candidate of this plugin slot is gone; this node validates the candidate again");
            self.give(&slot, given, work, evidence);
        }
    }

    /// Tells the other nodes that this one stops.
    pub(super) async fn leave(&mut self) {
        if let Some(nodes) = self.nodes.take() {
            nodes.leave().await;
        }
    }

    fn adopt(&mut self, change: Change, work: &mut RunningJobs) {
        let Some(nodes) = &mut self.nodes else { return };
        let (slot, node) = (change.slot.clone(), nodes.name().to_owned());
        let machine = self.machines.of(&slot);
        let loaded = machine.versions();
        let state = nodes.take(change);
        let known = nodes.of(&slot);
        let prepared = known.prepared.clone();
        known.prepare(&loaded);
        let mine = known.candidate.as_ref().filter(|it| it.node == node);
        let ordered = mine.and_then(|it| it.shadow_calls);
        if mine.is_none() && !machine.is_examining() {
            machine.drop_candidate();
        }
        let before = machine.state().active.clone();
        let loaded: Vec<PluginVersion> = loaded.into_iter().chain(prepared).collect();
        machine.adopt(state, &loaded);
        let now = machine.state().active.as_ref();
        if !Stored::are_same(before.as_ref(), now) {
            let digest = now.and_then(|it| it.digest.as_deref()).unwrap_or("the built-in plugin");
            tracing::info!(%slot, digest, "this node follows another node, which changed the active version of the plugin slot");
        }
        self.machines.all_mut().for_each(Machine::binding_may_be_free);
        self.is_untidy = true;
        self.publish(&slot);
        if let Some(calls) = ordered {
            self.shadow(&slot, calls, work);
        }
    }

    /// Loads versions that the slots name and this node does not have.
    fn load_missing(&mut self, work: &mut RunningJobs) {
        let Some(nodes) = &mut self.nodes else { return };
        for machine in self.machines.all() {
            let slot = machine.slot();
            let known = nodes.of(slot);
            for version in machine.missing().into_iter().chain(known.unprepared()) {
                if known.begin_loading(&version) {
                    let (plugins, name) = (Arc::clone(&self.plugins), slot.clone());
                    work.start(async move {
                        let loaded = jobs::load(&plugins, &name, version).await;
                        (name, 0, loaded)
                    });
                }
            }
        }
    }

    /// A version that other nodes run, or are about to, was loaded here, or cannot be.
    pub(super) fn version_loaded(&mut self, slot: &SlotName, loaded: LoadedVersion) {
        let Some(nodes) = &mut self.nodes else { return };
        let LoadedVersion { version, result } = loaded;
        let known = nodes.of(slot);
        known.end_loading(&version, result.as_ref().err());
        match result {
            Ok(plugin) => {
                let version = PluginVersion { plugin, stored: version, shadow: None };
                known.prepare(std::slice::from_ref(&version));
                self.machines.of(slot).note_loaded(&version);
                self.publish(slot);
            }
            Err(error) => {
                let digest = version.digest.as_deref().unwrap_or("the built-in plugin");
                tracing::error!(%slot, digest, %error, "cannot load a plugin that other nodes run or are about to run; what ran here stays in service");
            }
        }
    }

    /// A validated version becomes active as soon as all nodes have loaded it.
    pub(super) fn promote(&mut self, slot: &SlotName, next: PluginVersion) {
        let Some(nodes) = &mut self.nodes else { return };
        let node = nodes.name().to_owned();
        let identity = next.plugin.identity();
        let (plugin, version, digest) = (&identity.name, &identity.version, &identity.digest);
        tracing::info!(%slot, plugin, version, digest, "plugin validated; it is active when all nodes have loaded it");
        let known = nodes.of(slot);
        known.promotion = Some(Promotion {
            version: next.stored.clone(),
            name: Some(format!("{plugin} {version}")),
            node,
            shadow: next.shadow.clone(),
        });
        known.prepared = Some(next);
        known.candidate = None;
        self.machines.of(slot).drop_candidate();
        self.machines.of(slot).mark_unsaved();
    }

    /// Makes versions active that all nodes have loaded, and rejects those that one of them cannot load.
    pub(super) fn decide_promotions(&mut self) {
        let verdicts = self.nodes.as_ref().map(Nodes::verdicts).unwrap_or_default();
        for (slot, verdict) in verdicts {
            match verdict {
                Verdict::Complete => self.complete_promotion(&slot),
                Verdict::Failed { node, reason } => self.fail_promotion(&slot, &node, &reason),
            }
        }
    }

    fn complete_promotion(&mut self, slot: &SlotName) {
        let Some(known) = self.known(slot) else { return };
        let (Some(promotion), Some(version)) = (known.promotion.take(), known.prepared.take())
        else {
            return;
        };
        let machine = self.machines.of(slot);
        let (was_in_step, before) = (machine.is_in_step(), machine.state().active.clone());
        self.go_live(slot, PluginVersion { shadow: promotion.shadow, ..version });
        let machine = self.machines.of(slot);
        // What ran before on the others is not what this node ran, where that could not load it.
        if !was_in_step && machine.is_in_step() {
            machine.note_previous(before);
        }
    }

    fn fail_promotion(&mut self, slot: &SlotName, failed_on: &str, reason: &str) {
        let Some(nodes) = &mut self.nodes else { return };
        let node = nodes.name().to_owned();
        let known = nodes.of(slot);
        let Some(promotion) = known.promotion.take() else { return };
        known.prepared = None;
        tracing::error!(%slot, node = failed_on, reason, "plugin rejected: a node cannot load it; the active version stays in service on all nodes");
        let rejected = Some(format!("the node {failed_on} cannot load it: {reason}"));
        let shown = CandidateStatus {
            digest: promotion.version.digest,
            name: promotion.name,
            stage: Stage::Loading,
            rejected,
            ..CandidateStatus::new()
        };
        known.candidate = Some(SharedCandidate::examined(&node, shown, None));
        self.machines.of(slot).mark_unsaved();
    }

    /// The candidate of this node has changed: the other nodes are to see that.
    pub(super) fn candidate_changed(&mut self, slot: &SlotName) {
        let Some(nodes) = &mut self.nodes else { return };
        let node = nodes.name().to_owned();
        let own = self.machines.of(slot).own_candidate();
        let known = nodes.of(slot);
        let was_mine = known.candidate.as_ref().is_some_and(|it| it.node == node);
        if own.is_some() || was_mine {
            known.candidate =
                own.map(|(shown, version)| SharedCandidate::examined(&node, shown, version));
            self.machines.of(slot).mark_unsaved();
        }
    }

    /// Files were found in the folder of this node, whatever came of them.
    pub(super) fn files_found(&mut self, slot: &SlotName, fingerprint: Option<String>) {
        let (Some(nodes), Some(fingerprint)) = (&mut self.nodes, fingerprint) else { return };
        if nodes.of(slot).remember(fingerprint) {
            self.machines.of(slot).mark_unsaved();
        }
    }

    /// What a slot was given, by files of this node.
    pub(super) fn was_given(&mut self, slot: &SlotName, given: Option<Given>) {
        let (Some(nodes), Some(given)) = (&mut self.nodes, given) else { return };
        nodes.of(slot).given = Some(given);
        self.machines.of(slot).mark_unsaved();
    }

    /// What is known of a slot that other nodes share.
    pub(super) fn known(&mut self, slot: &SlotName) -> Option<&mut Known> {
        self.nodes.as_mut().map(|nodes| nodes.of(slot))
    }

    /// An order gives something to a slot that nodes share, and this node examines it.
    pub(super) fn give(
        &mut self,
        slot: &SlotName,
        given: Given,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let Some(nodes) = &mut self.nodes else { return };
        let node = nodes.name().to_owned();
        let known = nodes.of(slot);
        known.candidate = Some(SharedCandidate::begun(&node, given.digest.clone()));
        known.given = Some(given);
        self.machines.of(slot).mark_unsaved();
        self.examine(slot, Cause::Order(Approval::ByRule), work, evidence);
    }

    /// Activates the candidate that another node has proven.
    pub(super) fn activate_elsewhere(&mut self, slot: &SlotName) -> Elsewhere {
        let Some(nodes) = &mut self.nodes else { return Elsewhere::Nothing };
        let node = nodes.name().to_owned();
        let machine = self.machines.of(slot);
        if machine.own_candidate().is_some() || machine.is_examining() {
            return Elsewhere::Nothing;
        }
        let loaded = machine.versions();
        let known = nodes.of(slot);
        let Some(candidate) = known.candidate.take() else { return Elsewhere::Nothing };
        match candidate.version.clone() {
            Some(version) => {
                let name = candidate.name;
                known.promotion = Some(Promotion { version, name, node, shadow: None });
                known.prepare(&loaded);
                machine.mark_unsaved();
                Elsewhere::Promoted
            }
            None if candidate.rejected.is_some() => {
                known.candidate = Some(candidate);
                Elsewhere::Rejected
            }
            None => {
                known.candidate = Some(candidate);
                Elsewhere::Nothing
            }
        }
    }

    /// Has the candidate of another node shadow the active version there; answers whether one waits.
    pub(super) fn shadow_elsewhere(&mut self, slot: &SlotName, calls: u32) -> bool {
        let Some(nodes) = &mut self.nodes else { return false };
        let node = nodes.name().to_owned();
        let Some(candidate) = &mut nodes.of(slot).candidate else { return false };
        if candidate.node == node || candidate.version.is_none() {
            return false;
        }
        candidate.shadow_calls = Some(calls);
        self.machines.of(slot).mark_unsaved();
        true
    }

    /// Refuses to roll back where this node does not know the versions of the slot.
    pub(super) fn check_loaded(&mut self, slot: &SlotName) -> Result<(), OrderError> {
        let machine = self.machines.of(slot);
        let is_loaded = machine.is_in_step() && machine.missing().is_empty();
        if self.nodes.is_some() && !is_loaded {
            return Err(OrderError::NotLoaded(slot.clone()));
        }
        Ok(())
    }

    /// Nothing becomes active any more that was about to, or that waits on another node.
    pub(super) fn forget_what_comes(&mut self, slot: &SlotName) {
        if let Some(known) = self.known(slot) {
            (known.promotion, known.prepared, known.candidate) = (None, None, None);
        }
    }

    /// Adds to the status of a slot what other nodes know of it.
    pub(super) fn with_other_nodes(&mut self, slot: &SlotName, view: &mut SlotStatus) {
        let Some(nodes) = &self.nodes else { return };
        let machine = self.machines.of(slot);
        if machine.is_examining() {
            // Its stages are shown as it passes them.
            let shown = self.plugins.statuses.slot(slot).and_then(|it| it.candidate);
            view.candidate = shown.or_else(|| view.candidate.take());
        } else if view.candidate.is_none() {
            view.candidate = nodes.candidate(slot);
        }
        view.nodes = nodes.statuses(machine);
    }

    fn show_all(&mut self) {
        for slot in self.machines.slots() {
            self.show(&slot);
        }
    }
}
