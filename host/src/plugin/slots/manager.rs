//! The one task that changes what is live: it hears of files, of the operator's commands and of
//! traps, and moves each slot's machine. Nothing is unloaded before its successor is proven.

mod directory_watch;
mod events;
mod jobs;
mod machine;
mod orders;
mod persistence;
mod traps;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::files::Stamp;
use super::plugins::Plugins;
use super::state::SlotState;
use super::status::CandidateStatus;
use super::table::TrapReport;
use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::runtime::error::{CallFailure, ComponentError};
use crate::plugin::runtime::stage::Stage;
use directory_watch::DirectoryWatch;
use jobs::{Examination, Examined, JobOutcome};
use machine::{Pending, Settling};
use traps::Judging;

pub use super::orders::{Command, Order, OrderError};
pub use events::{Event, EventKind, Listener};
pub use machine::{Live, Machine};

/// How often the directory is looked at where the system reports nothing.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Characters of a reason that are shown.
const MAX_REASON_CHARS: usize = 1_000;

/// The task.
#[derive(Debug)]
pub struct Manager {
    plugins: Arc<Plugins>,
    machines: BTreeMap<SlotName, Machine>,
    commands: mpsc::Receiver<Command>,
    traps: mpsc::Receiver<TrapReport>,
    judging: Judging,
    listener: Listener,
    told_traps: HashMap<SlotName, Instant>,
    /// Whether a slot has changed since components were last forgotten.
    is_untidy: bool,
}

type Jobs = FuturesUnordered<BoxFuture<'static, (SlotName, u64, JobOutcome)>>;

impl Manager {
    /// The task over machines as the start left them.
    pub fn new(
        plugins: Arc<Plugins>,
        machines: BTreeMap<SlotName, Machine>,
        commands: mpsc::Receiver<Command>,
        traps: mpsc::Receiver<TrapReport>,
    ) -> Self {
        let (judging, listener) = (Judging::default(), Listener::default());
        let told_traps = HashMap::new();
        let is_untidy = true;
        let manager =
            Self { plugins, machines, commands, traps, judging, listener, told_traps, is_untidy };
        manager.publish_all();
        manager
    }

    /// Runs until `stop`. The impact of a new plugin is found out by the evidence.
    pub async fn run(mut self, evidence: Arc<dyn Evidence>, stop: CancellationToken) {
        let changed = Arc::new(Notify::new());
        let mut watch = DirectoryWatch::begin(&self.plugins.directory, &changed);
        let mut work = Jobs::new();
        let mut looks = tokio::time::interval(SCAN_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed.notified() => self.look(&mut work, &evidence),
                _ = looks.tick() => {
                    if !watch.is_of(&self.plugins.directory) {
                        watch = DirectoryWatch::begin(&self.plugins.directory, &changed);
                    }
                    self.look(&mut work, &evidence);
                    self.count_calls();
                    self.remember_the_rest();
                    self.tidy(&mut work, &evidence);
                }
                Some(command) = self.commands.recv() => self.obey(command, &mut work, &evidence).await,
                Some(report) = self.traps.recv() => self.trapped(report, &mut work),
                Some((slot, number, done)) = work.next(), if !work.is_empty() => {
                    self.finish(&slot, number, done, &mut work);
                }
            }
        }
    }

    /// Begins work for every slot whose files are not as they were.
    fn look(&mut self, work: &mut Jobs, evidence: &Arc<dyn Evidence>) {
        let found = match self.plugins.directory.scan() {
            Ok(found) => found,
            Err(error) => {
                let path = self.plugins.directory.path().display();
                tracing::error!(%path, %error, "plugin directory cannot be read; active plugins stay in service");
                return;
            }
        };
        for slot in found.keys() {
            if !self.machines.contains_key(slot) {
                let machine = Machine::new(slot.clone(), SlotState::default());
                self.machines.insert(slot.clone(), machine);
            }
        }
        let slots: Vec<SlotName> = self.machines.keys().cloned().collect();
        for slot in slots {
            let stamp = found.get(&slot).cloned();
            let Some(machine) = self.machines.get_mut(&slot) else { continue };
            // At the first look nothing is known of the files yet; where there are none, there is
            // something to do only if something of them runs.
            let is_first = !std::mem::replace(&mut machine.looked_at, true);
            let runs = machine.active.is_some();
            if machine.stamp != stamp || (is_first && runs) {
                machine.forget_activation();
                if machine.settling.hears_of_a_change() {
                    machine.stamp = stamp;
                } else {
                    self.examine(&slot, stamp, false, work, evidence);
                }
            }
        }
    }

    fn examine(
        &mut self,
        slot: &SlotName,
        stamp: Option<Stamp>,
        forgiven: bool,
        work: &mut Jobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        machine.stamp = stamp;
        let number = machine.begin();
        machine.settling = Arc::new(Settling::begun());
        let plugins = Arc::clone(&self.plugins);
        let examination = Examination {
            slot: slot.clone(),
            work: number,
            newest: Arc::clone(&machine.newest),
            settling: Arc::clone(&machine.settling),
            directory: plugins.directory.clone(),
            max_bytes: plugins.max_component_bytes,
            validator: plugins.validator.clone(),
            statuses: plugins.statuses.clone(),
            kept: plugins.state.clone(),
            log: plugins.log(slot),
            state: machine.state.clone(),
            active: machine.active.clone(),
            plugins: Arc::clone(&plugins),
            evidence: Arc::clone(evidence),
            now: self.plugins.clock.now().rfc3339(),
            forgiven,
        };
        if self.plugins.statuses.slot(slot).is_none() {
            self.publish(slot);
        }
        let (examined, running) = abortable(examination.run());
        if let Some(machine) = self.machines.get_mut(slot) {
            machine.running = Some(running);
        }
        let slot = slot.clone();
        work.push(Box::pin(async move {
            (slot, number, examined.await.unwrap_or(JobOutcome::Superseded))
        }));
    }

    fn finish(&mut self, slot: &SlotName, number: u64, done: JobOutcome, work: &mut Jobs) {
        if let JobOutcome::Judged { plugin, input, failure, blame } = done {
            self.judged(&plugin, input, &failure, blame);
            return;
        }
        let Some(machine) = self.machines.get_mut(slot) else { return };
        if !machine.is_newest(number) {
            return;
        }
        match done {
            JobOutcome::Unchanged => {
                machine.rejected = None;
                machine.pending = None;
                self.publish(slot);
            }
            JobOutcome::Gone => self.gone(slot),
            JobOutcome::Examined(examined) => self.examined(slot, *examined, work),
            JobOutcome::Shadowed => self.activate_if_allowed(slot),
            JobOutcome::Judged { .. } | JobOutcome::Superseded | JobOutcome::Tidied => {}
        }
    }

    fn examined(&mut self, slot: &SlotName, examined: Examined, work: &mut Jobs) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        machine.state.settings = examined.state.settings;
        machine.state.file.clone_from(&examined.digest);
        let result = examined.result.and_then(|(live, impact)| {
            // Another slot may have taken the binding while this one was proven.
            self.refuse_taken(&live.validated).map(|()| (live, impact))
        });
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let (live, impact) = match result {
            Ok(validated) => validated,
            Err(LoadError::Component(ComponentError::Superseded)) => return,
            Err(error) => return self.refuse(slot, examined.digest, &error),
        };
        let digest = live.validated.identity().digest.clone();
        if std::mem::take(&mut machine.is_wanted) {
            self.activate(slot, live);
            return;
        }
        let asked = machine.state.asked.as_ref().filter(|it| it.digest == digest);
        let activation = asked.map_or(live.validated.config().activation, |it| it.activation);
        let calls = activation.shadow_calls;
        machine.rejected = None;
        machine.pending = Some(Pending { live, impact, shadow: None, activation });
        if calls > 0 {
            self.shadow(slot, calls, work);
        } else {
            self.activate_if_allowed(slot);
        }
    }

    fn refuse(&mut self, slot: &SlotName, digest: Option<String>, error: &LoadError) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let stage = self.plugins.statuses.slot(slot).and_then(|it| it.candidate);
        let stage = stage.map_or(Stage::Settling, |it| it.stage);
        let file = self.plugins.directory.path().join(format!("{slot}.wasm"));
        tracing::error!(%slot, file = %file.display(), ?stage, %error, "plugin rejected; the active version stays in service");
        let rejected = Some(error.to_string().chars().take(MAX_REASON_CHARS).collect());
        machine.pending = None;
        machine.forget_activation();
        machine.is_in_the_way = matches!(error, LoadError::Taken { .. });
        machine.rejected =
            Some(CandidateStatus { digest, stage, rejected, ..CandidateStatus::new() });
        self.publish(slot);
    }

    fn shadow(&mut self, slot: &SlotName, calls: u32, work: &mut Jobs) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let number = machine.begin();
        let Some(pending) = machine.pending.as_mut() else { return };
        let (shadow, rest) = Shadow::new(pending.live.validated.clone(), calls);
        pending.shadow = Some(shadow);
        let name = slot.clone();
        work.push(Box::pin(async move { (name, number, jobs::shadow(rest).await) }));
        tracing::info!(%slot, calls, "shadowing the active version with a candidate");
        self.publish(slot);
    }

    fn activate_if_allowed(&mut self, slot: &SlotName) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let may = !machine.state.disabled;
        match machine.pending.take() {
            Some(pending) if may && pending.waits_because().is_none() => {
                self.activate(slot, pending.into_live());
            }
            Some(pending) => {
                let would_change = pending.impact.would_change;
                let reason = pending.waits_because().unwrap_or_default();
                tracing::warn!(%slot, would_change, reason, "plugin validated but not promoted; `waxwing plugin activate` promotes it");
                machine.pending = Some(pending);
                self.publish(slot);
            }
            None => {}
        }
    }

    fn activate(&mut self, slot: &SlotName, mut live: Live) {
        // It may have waited, and another slot has taken its binding in the meantime.
        if let Err(error) = self.refuse_taken(&live.validated) {
            return self.refuse(slot, live.stored.digest, &error);
        }
        live.stored.since = self.plugins.clock.now().rfc3339();
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let identity = live.validated.identity();
        let (plugin, version, digest) = (&identity.name, &identity.version, &identity.digest);
        let settings = identity.settings_revision;
        tracing::info!(%slot, plugin, version, digest, settings, "plugin promoted");
        machine.state.forgive(&digest.clone(), settings);
        let validated = live.validated.clone();
        machine.activate(live);
        self.tell(EventKind::Activated, &validated, "it is live");
        metrics::counter!("waxwing_plugin_activations_total", "slot" => slot.to_string())
            .increment(1);
        self.changed(slot);
    }

    /// What came from the files goes with them. What a rollback brought back did not: it stays,
    /// until the operator switches the slot off or gives it a file.
    fn gone(&mut self, slot: &SlotName) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        match &machine.active {
            Some(active) if active.stored.digest != machine.state.file => {
                tracing::warn!(%slot, "files of the rejected plugin removed; the active version stays in service");
                machine.leave();
            }
            Some(_) => {
                tracing::warn!(%slot, "plugin files removed; a plugin with a broader binding serves its calls");
                machine.clear();
            }
            None => machine.clear(),
        }
        self.changed(slot);
    }

    fn refuse_taken(&self, validated: &InstalledPlugin) -> Result<(), LoadError> {
        let binding = &validated.config().binding;
        let other = self.machines.values().filter_map(Machine::serving).find(|other| {
            other.kind() == validated.kind()
                && other.config().binding == *binding
                && other.slot() != validated.slot()
        });
        match other {
            Some(other) => {
                Err(LoadError::Taken { other: other.slot().clone(), binding: binding.clone() })
            }
            None if *binding == Binding::Server && validated.slot().builtin_kind().is_none() => {
                let other = validated.kind().builtin_slot();
                Err(LoadError::Taken { other, binding: Binding::Server })
            }
            None => Ok(()),
        }
    }

    /// What a slot serves has changed. Calls go to the new table at once; the board shows the slot
    /// when its state is on disk, so that a crash takes back nothing that an operator has seen.
    fn changed(&mut self, slot: &SlotName) {
        self.serve();
        // The binding that another slot could not have may be free now: its files are looked at
        // again, as if they had changed.
        for other in self.machines.values_mut().filter(|it| it.is_in_the_way) {
            other.is_in_the_way = false;
            other.stamp = Some(Stamp::default());
        }
        self.remember(slot);
        self.show(slot);
        self.is_untidy = true;
    }

    fn publish(&self, slot: &SlotName) {
        self.show(slot);
        self.serve();
    }

    fn show(&self, slot: &SlotName) {
        let Some(machine) = self.machines.get(slot) else { return };
        let builtin = slot.builtin_kind().map(|kind| self.plugins.builtin(kind));
        let nothing = machine.active.is_none() && machine.pending.is_none();
        if nothing && machine.rejected.is_none() && machine.stamp.is_none() && builtin.is_none() {
            self.plugins.statuses.remove(slot);
        } else {
            self.plugins.statuses.show(slot, machine.view(builtin.as_ref()));
        }
        let rejected = if machine.rejected.is_some() { 1.0 } else { 0.0 };
        metrics::gauge!("waxwing_plugin_candidate_rejected", "slot" => slot.to_string())
            .set(rejected);
    }

    fn serve(&self) {
        let live = self.machines.values().filter_map(Machine::serving).cloned().collect();
        let shadows =
            self.machines.values().filter_map(|it| it.pending.as_ref()?.shadow.clone()).collect();
        self.plugins.set_table(live, shadows);
    }

    fn publish_all(&self) {
        for slot in self.machines.keys() {
            self.publish(slot);
        }
    }
}
