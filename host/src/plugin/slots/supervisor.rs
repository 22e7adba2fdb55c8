//! The one task that changes the active version: it receives changes of files, the operator's commands and
//! traps, and moves each slot's machine. Nothing is unloaded before its successor is validated.

mod directory_watch;
mod emit;
mod events;
mod jobs;
mod machine;
mod machines;
mod nodes;
mod orders;
mod persistence;
mod running_jobs;
mod shared;
mod traps;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Abortable;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::plugins::Plugins;
use super::status::CandidateStatus;
use super::table::FailureReport;
use crate::clock::log_throttle::LogThrottle;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::error::ComponentError;
use crate::plugin::runtime::stage::Stage;
use directory_watch::DirectoryWatch;
use jobs::{CandidateLoad, JobOutcome, LoadedCandidate, Source};
use machine::{Approval, Cause, Decision, FilesGone, Proposal, RejectedFor};
use machines::Machines;
use running_jobs::RunningJobs;

pub use super::orders::{Command, Order, OrderError};
pub use events::{Event, EventKind, Listener};
pub use machine::{Machine, PluginVersion};
pub use nodes::{Change, Nodes};

/// The inputs whose traps are being evaluated, each with the traps on it: how many calls were before each.
type Evaluations = HashMap<(SlotName, u64), Vec<u64>>;

/// How often the directory is scanned where the system reports no change.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// How often a node looks for what the nodes have changed that share its slots.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);
/// Characters of a reason that are shown.
const MAX_REASON_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct SlotSupervisor {
    plugins: Arc<Plugins>,
    machines: Machines,
    /// What other nodes share with this one, where there may be some.
    nodes: Option<Nodes>,
    commands: mpsc::Receiver<Command>,
    traps: mpsc::Receiver<FailureReport>,
    scan_errors: LogThrottle<(ErrorKind, Option<i32>)>,
    evaluations: Evaluations,
    listener: Listener,
    trap_events: HashMap<SlotName, Instant>,
    /// Whether a slot has changed since components were last forgotten.
    is_untidy: bool,
}

impl SlotSupervisor {
    /// The task over machines as the start left them.
    pub fn new(
        plugins: Arc<Plugins>,
        (machines, nodes): (BTreeMap<SlotName, Machine>, Option<Nodes>),
        commands: mpsc::Receiver<Command>,
        traps: mpsc::Receiver<FailureReport>,
    ) -> Self {
        let (evaluations, listener) = (Evaluations::default(), Listener::default());
        let trap_events = HashMap::new();
        let mut supervisor = Self {
            plugins,
            machines: Machines::new(machines),
            nodes,
            commands,
            traps,
            scan_errors: LogThrottle::default(),
            evaluations,
            listener,
            trap_events,
            is_untidy: true,
        };
        supervisor.publish_all();
        supervisor
    }

    /// Runs until `stop`. The impact of a new plugin is found out by the evidence.
    pub async fn run(mut self, evidence: Arc<dyn Evidence>, stop: CancellationToken) {
        let changed = Arc::new(Notify::new());
        let mut watch = DirectoryWatch::begin(&self.plugins.directory, &changed).await;
        let mut work = RunningJobs::default();
        let mut scans = tokio::time::interval(SCAN_INTERVAL);
        scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut syncs = tokio::time::interval(SYNC_INTERVAL);
        syncs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return self.leave().await,
                () = changed.notified() => self.scan(&mut work, &evidence).await,
                _ = scans.tick() => {
                    watch = watch.renewed(&self.plugins.directory, &changed).await;
                    self.scan(&mut work, &evidence).await;
                    self.count_calls();
                    self.retry_saving();
                    self.tidy(&mut work, &evidence);
                }
                _ = syncs.tick(), if self.nodes.is_some() => {
                    self.sync(&mut work).await;
                    self.take_over_candidates(&mut work, &evidence);
                }
                Some(command) = self.commands.recv() => self.execute(command, &mut work, &evidence).await,
                Some(report) = self.traps.recv() => self.call_failed(report, &mut work),
                Some((slot, number, done)) = work.next() => {
                    self.finish(&slot, number, done, &mut work);
                }
            }
            self.save(&mut work).await;
        }
    }

    /// Begins work for every slot whose files are not as they were. The scan is not done by the
    /// runtime's workers: a network file system may take its time.
    async fn scan(&mut self, work: &mut RunningJobs, evidence: &Arc<dyn Evidence>) {
        let directory = self.plugins.directory.clone();
        let found = match blocking(move || directory.scan()).await {
            Ok(found) => found,
            Err(error) => {
                if self.scan_errors.admit((error.kind(), error.raw_os_error()), Instant::now()) {
                    let path = self.plugins.directory.path().display();
                    tracing::error!(%path, %error, "plugin directory cannot be read; active plugins stay in service");
                }
                return;
            }
        };
        let known = self.machines.slots();
        let slots: BTreeSet<SlotName> = known.into_iter().chain(found.keys().cloned()).collect();
        for slot in slots {
            let stamp = found.get(&slot).cloned();
            if self.nodes.is_some() {
                let machine = self.machines.of(&slot);
                if machine.take_recheck(stamp.as_ref()) {
                    self.examine(&slot, Cause::Order(Approval::ByRule), work, evidence);
                    continue;
                }
                if stamp.is_none() {
                    machine.files_are_elsewhere();
                    continue;
                }
            }
            if self.machines.of(&slot).record_scan(stamp.as_ref()) {
                self.examine(&slot, Cause::Files(stamp), work, evidence);
            }
        }
    }

    fn examine(
        &mut self,
        slot: &SlotName,
        cause: Cause,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let source = self.source(slot, &cause);
        let begun = self.machines.of(slot).begin_examination(cause);
        if self.plugins.statuses.slot(slot).is_none() {
            self.publish(slot);
        }
        let machine = self.machines.of(slot);
        let plugins = Arc::clone(&self.plugins);
        let examination = CandidateLoad {
            slot: slot.clone(),
            work: begun.number,
            newest: begun.newest,
            settling: begun.settling,
            source,
            directory: plugins.directory.clone(),
            max_bytes: plugins.max_component_bytes,
            validator: plugins.validator.clone(),
            statuses: plugins.statuses.clone(),
            slot_store: plugins.slot_store.clone(),
            log: plugins.log(slot),
            state: machine.state().clone(),
            active: machine.active().cloned(),
            plugins: Arc::clone(&plugins),
            evidence: Arc::clone(evidence),
            now: plugins.clock.now().rfc3339(),
            ignore_quarantine: begun.approval == Approval::ByOperator,
        };
        let examined = Abortable::new(examination.run(), begun.ends_with);
        let (slot, number) = (slot.clone(), begun.number);
        work.start(async move { (slot, number, examined.await.unwrap_or(JobOutcome::Superseded)) });
    }

    /// What is examined: the slot's files, and where several nodes share the slot what it was given before, too.
    fn source(&mut self, slot: &SlotName, cause: &Cause) -> Source {
        let is_first = !self.machines.of(slot).has_seen_files();
        let Some(known) = self.known(slot) else { return Source::Files };
        let given = known.given.clone().unwrap_or_default();
        match cause {
            Cause::Files(Some(_)) => {
                Source::Drop { before: given, known: known.found().to_vec(), is_first }
            }
            Cause::Files(None) | Cause::Order(_) => Source::Given(given),
        }
    }

    fn finish(&mut self, slot: &SlotName, number: u64, done: JobOutcome, work: &mut RunningJobs) {
        if let JobOutcome::LoadedVersion(loaded) = done {
            self.version_loaded(slot, *loaded);
            return;
        }
        if let JobOutcome::BlameFound { plugin, input, failure, blame } = done {
            self.blame_found(&plugin, input, &failure, blame);
            return;
        }
        if !self.machines.of(slot).is_newest(number) {
            return;
        }
        // Before anything is shown: a slot shows how far its examination is as long as that is under way.
        let approval = self.machines.of(slot).end_examination();
        match done {
            JobOutcome::Unchanged { found } => {
                self.files_found(slot, found);
                self.machines.of(slot).drop_candidate();
                self.candidate_changed(slot);
                self.publish(slot);
            }
            // Nodes that share a slot keep what it was given, whatever becomes of the files of one of them.
            JobOutcome::Gone if self.nodes.is_some() => self.publish(slot),
            JobOutcome::Gone => self.gone(slot),
            JobOutcome::LoadedCandidate(examined) => {
                self.examined(slot, *examined, approval, work);
            }
            JobOutcome::Shadowed => self.activate_if_allowed(slot),
            JobOutcome::BlameFound { .. }
            | JobOutcome::LoadedVersion(_)
            | JobOutcome::Superseded
            | JobOutcome::Tidied => {}
        }
    }

    fn examined(
        &mut self,
        slot: &SlotName,
        examined: LoadedCandidate,
        approval: Option<Approval>,
        work: &mut RunningJobs,
    ) {
        let LoadedCandidate { digest, given, found, state, result } = examined;
        self.was_given(slot, given);
        self.files_found(slot, found);
        let result = result.and_then(|(version, impact)| {
            // Another slot may have taken the binding while this one was validated.
            self.machines.check_binding(&version.plugin).map(|()| (version, impact))
        });
        let machine = self.machines.of(slot);
        machine.files_were_read(state.settings, digest.clone());
        match result {
            Ok((version, impact)) => match machine.propose(version, impact, approval) {
                Proposal::Activate(version) => self.activate(slot, *version),
                Proposal::Shadow { calls } => {
                    self.shadow(slot, calls, work);
                }
                Proposal::Decide => self.activate_if_allowed(slot),
            },
            Err(LoadError::Component(ComponentError::Superseded)) => {}
            Err(error) => self.reject(slot, digest, &error),
        }
    }

    fn reject(&mut self, slot: &SlotName, digest: Option<String>, error: &LoadError) {
        let stage = self.plugins.statuses.slot(slot).and_then(|it| it.candidate);
        let stage = stage.map_or(Stage::Settling, |it| it.stage);
        let file = self.plugins.directory.path().join(format!("{slot}.wasm"));
        tracing::error!(%slot, path = %file.display(), ?stage, %error, "plugin rejected; the active version stays in service");
        let rejected = Some(error.to_string().chars().take(MAX_REASON_CHARS).collect());
        let shown = CandidateStatus { digest, stage, rejected, ..CandidateStatus::new() };
        let is_taken = matches!(error, LoadError::Taken { .. });
        let reason = if is_taken { RejectedFor::BindingTaken } else { RejectedFor::Fault };
        self.machines.of(slot).reject(shown, reason);
        self.candidate_changed(slot);
        self.publish(slot);
    }

    /// Has the candidate shadow the active version, if one waits; answers whether one does.
    fn shadow(&mut self, slot: &SlotName, calls: u32, work: &mut RunningJobs) -> bool {
        let Some((number, rest)) = self.machines.of(slot).begin_shadow(calls) else { return false };
        let name = slot.clone();
        work.start(async move { (name, number, jobs::run_shadow_calls(rest).await) });
        tracing::info!(%slot, calls, "shadow run started: the next calls of the active plugin also go to the candidate");
        self.candidate_changed(slot);
        self.publish(slot);
        true
    }

    fn activate_if_allowed(&mut self, slot: &SlotName) {
        match self.machines.of(slot).decide() {
            Some(Decision::Activate(version)) => self.activate(slot, *version),
            Some(Decision::Wait { would_change, reason }) => {
                tracing::warn!(%slot, would_change, reason, "plugin validated but not activated; `waxwing plugin activate` activates it");
                self.candidate_changed(slot);
                self.publish(slot);
            }
            None => {}
        }
    }

    fn activate(&mut self, slot: &SlotName, next: PluginVersion) {
        if self.nodes.is_some() {
            self.promote(slot, next);
        } else {
            self.go_live(slot, next);
        }
    }

    fn go_live(&mut self, slot: &SlotName, mut next: PluginVersion) {
        // It may have waited, and another slot has taken its binding in the meantime.
        if let Err(error) = self.machines.check_binding(&next.plugin) {
            return self.reject(slot, next.stored.digest, &error);
        }
        next.stored.since = self.plugins.clock.now().rfc3339();
        let identity = next.plugin.identity();
        let (plugin, version, digest) = (&identity.name, &identity.version, &identity.digest);
        let settings = identity.settings_revision;
        tracing::info!(%slot, plugin, version, digest, settings, "plugin activated");
        let activated = next.plugin.clone();
        self.machines.of(slot).activate(next);
        self.emit(EventKind::Activated, &activated, "plugin activated");
        metrics::counter!("waxwing_plugin_activations_total", "slot" => slot.to_string())
            .increment(1);
        self.changed(slot);
    }

    fn gone(&mut self, slot: &SlotName) {
        match self.machines.of(slot).files_are_gone() {
            FilesGone::ActiveStays => {
                tracing::warn!(%slot, "files of the rejected plugin removed; the active version stays in service");
            }
            FilesGone::ActiveRemoved => {
                tracing::warn!(%slot, "plugin files removed; a plugin with a broader binding serves its calls");
            }
            FilesGone::NothingActive => {}
        }
        self.changed(slot);
    }

    /// What a slot serves has changed. Calls go to the new table at once; the status shows the slot
    /// when its state is on disk, so that a crash takes back nothing that an operator has seen.
    fn changed(&mut self, slot: &SlotName) {
        self.serve();
        self.machines.all_mut().for_each(Machine::binding_may_be_free);
        self.machines.of(slot).mark_unsaved();
        self.is_untidy = true;
    }

    fn publish(&mut self, slot: &SlotName) {
        self.show(slot);
        self.serve();
    }

    fn show(&mut self, slot: &SlotName) {
        let builtin = slot.builtin_kind().map(|kind| self.plugins.builtin(kind));
        let machine = self.machines.of(slot);
        let is_empty = machine.is_empty() && builtin.is_none();
        let rejected = if machine.is_rejected() { 1.0 } else { 0.0 };
        let mut view = machine.view(builtin.as_ref());
        self.with_other_nodes(slot, &mut view);
        if is_empty && view.candidate.is_none() {
            self.plugins.statuses.remove(slot);
        } else {
            self.plugins.statuses.show(slot, view);
        }
        metrics::gauge!("waxwing_plugin_candidate_rejected", "slot" => slot.to_string())
            .set(rejected);
    }

    fn serve(&self) {
        let live = self.machines.all().filter_map(Machine::serving).cloned().collect();
        let shadows = self.machines.all().filter_map(Machine::shadow).cloned().collect();
        self.plugins.set_table(live, shadows);
    }

    fn publish_all(&mut self) {
        for slot in self.machines.slots() {
            self.publish(&slot);
        }
    }
}

/// Work on files, off the runtime's workers.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
}
