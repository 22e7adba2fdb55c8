//! Failed calls of the active version: who is to blame, and when a plugin has to go.

use std::collections::hash_map::Entry;
use std::time::Instant;

use super::events::EventKind;
use super::jobs::Blame;
use super::{RunningJobs, SlotSupervisor, jobs};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::slots::table::FailureReport;

/// Inputs whose traps are evaluated at one time; traps on more are not counted.
const MAX_EVALUATED_INPUTS: usize = 8;
/// Traps on one input that are remembered while it is evaluated.
const MAX_TRAPS_PER_INPUT: usize = 64;

impl SlotSupervisor {
    /// A call for a message got no answer. Whether the plugin or the input is to blame is found out
    /// by another generation: the one before it, or the built-in one.
    pub(super) fn call_failed(&mut self, report: FailureReport, work: &mut RunningJobs) {
        let slot = report.plugin.slot().clone();
        let machine = self.machines.of(&slot);
        if !machine.serves(&report.plugin) {
            return;
        }
        let all = self.evaluations.len();
        match self.evaluations.entry((slot.clone(), report.input)) {
            Entry::Occupied(mut waiting) => {
                if waiting.get().len() < MAX_TRAPS_PER_INPUT {
                    waiting.get_mut().push(report.calls_before);
                }
                return;
            }
            Entry::Vacant(_) if all == MAX_EVALUATED_INPUTS => return,
            Entry::Vacant(vacant) => {
                vacant.insert(vec![report.calls_before]);
            }
        }
        let previous = machine.previous().map(|it| it.plugin.clone());
        let builtin = self.plugins.builtin(report.plugin.kind());
        let is_other = |it: &InstalledPlugin| {
            let (one, two) = (it.identity(), report.plugin.identity());
            (&one.digest, one.settings_revision) != (&two.digest, two.settings_revision)
        };
        // The built-in one tries a copy of itself too: where both fail, the copy is not to blame.
        let other = previous.filter(is_other).unwrap_or(builtin);
        work.start(async move { (slot, 0, jobs::find_blame(report, other).await) });
    }

    /// It is known who is to blame for the traps on an input.
    pub(super) fn blame_found(
        &mut self,
        plugin: &InstalledPlugin,
        input: u64,
        failure: &CallFailure,
        blame: Blame,
    ) {
        let slot = plugin.slot().clone();
        let traps = self.evaluations.remove(&(slot.clone(), input)).unwrap_or_default();
        if blame == Blame::Call && failure.limit().is_some() {
            tracing::info!(%slot, %failure, "message data exhausted a plugin limit; the plugin is not blamed and stays in service");
            return;
        }
        self.emit_trap(plugin, failure);
        match blame {
            Blame::Plugin => {
                for calls_before in traps {
                    self.count_trap(plugin, input, calls_before);
                }
            }
            Blame::Input => {
                tracing::error!(
                    %slot, %failure, "input quarantined: two plugin versions trapped on it"
                );
                plugin.stats().quarantine(input, failure);
            }
            Blame::Call => {
                tracing::error!(
                    %slot, %failure, "two plugin versions trapped on the data of one message; its template stays in service"
                );
            }
            Blame::Unknown => {
                tracing::warn!(%slot, %failure, "two plugin versions gave up on one call; neither is blamed");
            }
        }
    }

    /// A trap that the plugin is to blame for; it may be one too many.
    fn count_trap(&mut self, plugin: &InstalledPlugin, input: u64, calls_before: u64) {
        let slot = plugin.slot().clone();
        let machine = self.machines.of(&slot);
        if !machine.serves(plugin) {
            return;
        }
        let calls = plugin.stats().calls();
        let reason = machine.trapped(Instant::now(), input, calls_before, calls);
        if let Some(reason) = reason {
            self.roll_back(&slot, &reason);
        }
    }

    /// The previous version comes back, and the active one goes into quarantine.
    pub(super) fn roll_back(&mut self, slot: &SlotName, reason: &str) {
        let at = self.plugins.clock.now().rfc3339();
        if self.taken_before(slot).is_some() {
            self.machines.of(slot).drop_previous();
        }
        let machine = self.machines.of(slot);
        // What runs here alone, until this node has loaded what the others run, says nothing of theirs.
        if self.nodes.is_some() && !machine.is_in_step() {
            return;
        }
        let Some(gone) = machine.roll_back(reason, &at) else { return };
        let identity = gone.plugin.identity();
        let now = machine.active().map(|it| it.plugin.identity().digest.clone());
        let now = now.unwrap_or_else(|| "the built-in or a broader plugin".to_owned());
        let (plugin, version, digest) = (&identity.name, &identity.version, &identity.digest);
        tracing::error!(%slot, plugin, version, digest, reason, active = now, "plugin rolled back");
        self.emit(EventKind::RolledBack, &gone.plugin, reason);
        self.forget_what_comes(slot);
        metrics::counter!("waxwing_plugin_rollbacks_total", "slot" => slot.to_string())
            .increment(1);
        self.changed(slot);
    }

    /// Why the previous version cannot come back: another slot has its binding now.
    pub(super) fn taken_before(&mut self, slot: &SlotName) -> Option<LoadError> {
        let previous = self.machines.of(slot).previous()?.plugin.clone();
        self.machines.check_binding(&previous).err()
    }

    /// Notes how many calls there were, for the shares of the last minute.
    pub(super) fn count_calls(&mut self) {
        let now = Instant::now();
        self.machines.all_mut().for_each(|it| it.count_calls(now));
    }
}
