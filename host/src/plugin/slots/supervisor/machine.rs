//! The state machine of one plugin slot: active version, previous version (for rollback) and candidate. All transitions
//! are made here; the supervisor only reports events.

mod candidate;
mod examination;
mod plugin_version;
mod saved;
mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::{Shadow, ShadowCalls};
use crate::plugin::slots::files::Stamp;
use crate::plugin::slots::rollback::TrapWindow;
use crate::plugin::slots::state::{Asked, Quarantined, Revision, SlotState};
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};
use candidate::{Candidate, Pending};
use examination::Examination;
use saved::Saved;

pub use candidate::RejectedFor;
pub use examination::{Approval, Begun, Cause, Settling};
pub use plugin_version::PluginVersion;
pub use saved::Written;

/// A slot's state machine. Only `state` is written to disk.
#[derive(Debug)]
pub struct Machine {
    slot: SlotName,
    state: SlotState,
    /// What answers its calls, unless the operator has switched the slot off.
    active: Option<PluginVersion>,
    /// What a rollback brings back.
    previous: Option<PluginVersion>,
    candidate: Candidate,
    examination: Option<Examination>,
    files: Files,
    saved: Saved,
    /// The number of the newest examination or shadow run; results of older ones are dropped.
    newest: Arc<AtomicU64>,
    /// The traps of the active version.
    window: TrapWindow,
}

/// What is known of the slot's files.
#[derive(Debug)]
enum Files {
    /// The directory was not scanned since the start.
    Unknown,
    /// The files as they were last read or reported; none where there are none.
    Seen(Option<Stamp>),
    /// They are to be examined again, although they did not change.
    Recheck,
}

/// What is to be done with a validated candidate.
#[derive(Debug)]
pub enum Proposal {
    /// The operator activated it: it becomes live.
    Activate(Box<PluginVersion>),
    /// It gets live calls first.
    Shadow { calls: u32 },
    /// [`Machine::decide`] says whether it becomes live.
    Decide,
}

/// Whether a candidate becomes live by itself.
#[derive(Debug)]
pub enum Decision {
    Activate(Box<PluginVersion>),
    /// The operator decides.
    Wait {
        would_change: u32,
        reason: String,
    },
}

/// What the operator's order to activate means.
#[derive(Debug)]
pub enum OrderedActivation {
    /// What waits becomes live.
    Activate(Box<PluginVersion>),
    /// What was rejected, rolled back or switched off is examined once more.
    Examine(Approval),
    Nothing,
}

/// What it means for a slot that its files are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesGone {
    /// The active version is not of these files.
    ActiveStays,
    ActiveRemoved,
    NothingActive,
}

impl Machine {
    /// A machine in which nothing runs yet.
    #[must_use]
    pub fn new(slot: SlotName, state: SlotState) -> Self {
        Self::restored(slot, state, None, None)
    }

    /// The machine after a restart. If the active version cannot be rebuilt, the previous one becomes active, but not
    /// if none was active, as after the slot's files were removed.
    #[must_use]
    pub fn restored(
        slot: SlotName,
        state: SlotState,
        active: Option<PluginVersion>,
        mut previous: Option<PluginVersion>,
    ) -> Self {
        let should_run = state.active.is_some();
        let active = active.or_else(|| if should_run { previous.take() } else { None });
        Self {
            slot,
            state,
            active,
            previous,
            candidate: Candidate::None,
            examination: None,
            files: Files::Unknown,
            saved: Saved::Yes,
            newest: Arc::default(),
            window: TrapWindow::default(),
        }
    }

    #[must_use]
    pub fn slot(&self) -> &SlotName {
        &self.slot
    }

    /// What survives a restart.
    #[must_use]
    pub fn state(&self) -> &SlotState {
        &self.state
    }

    /// The active version, even while the slot is switched off; see [`Self::serving`].
    #[must_use]
    pub fn active(&self) -> Option<&PluginVersion> {
        self.active.as_ref()
    }

    /// The version that a rollback restores.
    #[must_use]
    pub fn previous(&self) -> Option<&PluginVersion> {
        self.previous.as_ref()
    }

    /// The plugin that serves the slot's calls; none while the slot is switched off.
    #[must_use]
    pub fn serving(&self) -> Option<&InstalledPlugin> {
        if self.state.disabled { None } else { self.active.as_ref().map(|it| &it.plugin) }
    }

    /// Whether the slot's calls are served by this plugin.
    #[must_use]
    pub fn serves(&self, plugin: &InstalledPlugin) -> bool {
        self.serving().is_some_and(|active| active.identity() == plugin.identity())
    }

    /// The shadow run of the waiting candidate.
    #[must_use]
    pub fn shadow(&self) -> Option<&Arc<Shadow>> {
        self.candidate.waiting()?.shadow.as_ref()
    }

    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.candidate, Candidate::Rejected { .. })
    }

    /// Whether the slot has no files, no active version and no candidate, so that no status shows it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let has_files = match &self.files {
            Files::Seen(stamp) => stamp.is_some(),
            Files::Recheck => true,
            Files::Unknown => false,
        };
        self.active.is_none() && matches!(self.candidate, Candidate::None) && !has_files
    }

    /// Starts a new numbered job (examination or shadow run) and cancels the examination under way.
    fn begin(&mut self) -> u64 {
        self.examination = None;
        self.newest.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether work of that number is still the newest.
    #[must_use]
    pub fn is_newest(&self, work: u64) -> bool {
        self.newest.load(Ordering::SeqCst) == work
    }

    /// Whether the slot's files are being examined.
    #[must_use]
    pub fn is_examining(&self) -> bool {
        self.examination.is_some()
    }

    /// The newest work has ended, whatever came of it; answers who lets the component become live, where that was an
    /// examination.
    pub fn end_examination(&mut self) -> Option<Approval> {
        self.examination.take().map(|it| it.approval())
    }

    /// Records what a scan found, and returns whether the files must be examined. An examination that still waits for
    /// its files to settle starts that wait again instead.
    pub fn record_scan(&mut self, stamp: Option<&Stamp>) -> bool {
        let is_as_before = match &self.files {
            // Where there are no files, there is something to do only if something of them runs.
            Files::Unknown => stamp.is_none() && self.active.is_none(),
            Files::Seen(before) => before.as_ref() == stamp,
            Files::Recheck => false,
        };
        let is_restarted = match &mut self.examination {
            Some(examination) if !is_as_before => {
                examination.forget_approval();
                examination.restart_settling()
            }
            Some(_) | None => false,
        };
        if is_as_before || is_restarted {
            self.files = Files::Seen(stamp.cloned());
        }
        !is_as_before && !is_restarted
    }

    /// Begins to examine the files.
    pub fn begin_examination(&mut self, cause: Cause) -> Begun {
        let approval = match cause {
            Cause::Files(stamp) => {
                self.files = Files::Seen(stamp);
                Approval::ByRule
            }
            Cause::Order(approval) => approval,
        };
        let number = self.begin();
        let (examination, begun) = Examination::begin(number, &self.newest, approval);
        self.examination = Some(examination);
        begun
    }

    /// The files were read, whatever comes of it.
    pub fn files_were_read(&mut self, settings: Vec<Revision>, digest: Option<String>) {
        self.state.settings = settings;
        self.state.file = digest;
    }

    /// A validated candidate waits in the slot, unless the operator wants it to be live at once.
    pub fn propose(
        &mut self,
        version: PluginVersion,
        impact: Impact,
        approval: Option<Approval>,
    ) -> Proposal {
        if approval == Some(Approval::ByOperator) {
            return Proposal::Activate(Box::new(version));
        }
        let digest = &version.plugin.identity().digest;
        let asked = self.state.asked.as_ref().filter(|it| it.digest == *digest);
        let activation = asked.map_or(version.plugin.config().activation, |it| it.activation);
        let pending = Pending { version, impact, shadow: None, activation };
        self.candidate = Candidate::Waiting(Box::new(pending));
        match activation.shadow_calls {
            0 => Proposal::Decide,
            calls => Proposal::Shadow { calls },
        }
    }

    /// Puts the candidate that waits into the shadow; answers the number of that work, and the end
    /// that makes the calls.
    pub fn begin_shadow(&mut self, calls: u32) -> Option<(u64, ShadowCalls)> {
        let pending = self.candidate.waiting_mut()?;
        let (shadow, rest) = Shadow::new(pending.version.plugin.clone(), calls);
        pending.shadow = Some(shadow);
        Some((self.begin(), rest))
    }

    /// Whether the candidate that waits becomes live by itself, if one waits.
    pub fn decide(&mut self) -> Option<Decision> {
        let pending = self.candidate.waiting()?;
        let reason = pending.waits_because();
        if reason.is_some() || self.state.disabled {
            let would_change = pending.impact.would_change;
            return Some(Decision::Wait { would_change, reason: reason.unwrap_or_default() });
        }
        let pending = self.candidate.take_waiting()?;
        Some(Decision::Activate(Box::new(pending.into_version())))
    }

    /// Rejects the candidate.
    pub fn reject(&mut self, shown: CandidateStatus, reason: RejectedFor) {
        self.forget_approval();
        self.candidate = Candidate::Rejected { shown: Box::new(shown), reason };
    }

    /// The binding that the slot could not have may be free now: its files are examined again, as if
    /// they had changed.
    pub fn binding_may_be_free(&mut self) {
        if let Candidate::Rejected { reason: reason @ RejectedFor::BindingTaken, .. } =
            &mut self.candidate
        {
            *reason = RejectedFor::Fault;
            self.files = Files::Recheck;
        }
    }

    /// The files are again those of the active version.
    pub fn drop_candidate(&mut self) {
        self.candidate = Candidate::None;
    }

    /// Ends the candidate's validation or shadow run, and drops the candidate.
    pub fn abandon_work(&mut self) {
        self.begin();
        self.drop_candidate();
    }

    /// The operator installs a component with rules of its own, or without.
    pub fn ask(&mut self, asked: Option<Asked>) {
        self.state.asked = asked;
    }

    /// The operator activates what waits, or what was rejected, rolled back or switched off.
    pub fn order_activation(&mut self) -> OrderedActivation {
        if let Some(pending) = self.candidate.take_waiting() {
            return OrderedActivation::Activate(Box::new(pending.into_version()));
        }
        // Who switches a slot on means what ran in it, and not a component that waited: that has its
        // own rule.
        if self.state.disabled {
            return OrderedActivation::Examine(Approval::ByRule);
        }
        if self.is_rejected() || !self.state.quarantined.is_empty() {
            return OrderedActivation::Examine(Approval::ByOperator);
        }
        OrderedActivation::Nothing
    }

    /// The operator switches the slot on.
    pub fn enable(&mut self) {
        self.state.disabled = false;
    }

    /// The operator switches the slot off.
    pub fn disable(&mut self) {
        self.begin();
        drop(self.candidate.take_waiting());
        self.state.disabled = true;
    }

    /// The candidate becomes live; what ran stays as the previous one.
    /// A slot that is switched on again gets the same once more, and keeps what was before it.
    pub fn activate(&mut self, version: PluginVersion) {
        let identity = version.plugin.identity();
        self.state.forgive(&identity.digest, identity.settings_revision);
        let is_same = |it: &PluginVersion| {
            it.stored.digest == version.stored.digest && it.stored.config == version.stored.config
        };
        if !self.active.as_ref().is_some_and(is_same) {
            self.previous = self.active.take();
        }
        self.active = Some(version);
        self.state.disabled = false;
        self.end_transition();
    }

    /// Restores the previous version, quarantines the active one, and returns it; none if nothing was active.
    pub fn roll_back(&mut self, reason: &str, at: &str) -> Option<PluginVersion> {
        let gone = self.active.take()?;
        self.active = self.previous.take();
        let identity = gone.plugin.identity();
        let only_settings =
            self.active.as_ref().is_some_and(|it| it.plugin.identity().digest == identity.digest);
        self.state.quarantine(Quarantined {
            digest: identity.digest.clone(),
            settings_revision: only_settings.then_some(identity.settings_revision),
            reason: reason.to_owned(),
            at: at.to_owned(),
        });
        self.end_transition();
        Some(gone)
    }

    /// Forgets the previous version: a rollback leads to the built-in or a broader plugin.
    pub fn drop_previous(&mut self) {
        self.previous = None;
    }

    /// Drops the active version, which start-up found unfit to run.
    pub fn drop_active(&mut self) {
        self.active = None;
    }

    /// Removes the active version if it came from the files that are gone. One that a rollback restored did not: it
    /// stays until the operator switches the slot off or installs another file.
    pub fn files_are_gone(&mut self) -> FilesGone {
        let gone = match &self.active {
            Some(active) if active.stored.digest != self.state.file => FilesGone::ActiveStays,
            Some(_) => FilesGone::ActiveRemoved,
            None => FilesGone::NothingActive,
        };
        if gone != FilesGone::ActiveStays {
            self.previous = self.active.take();
        }
        self.end_transition();
        gone
    }

    /// Clears candidate, approval and trap counts, and copies active and previous into the state to be saved.
    fn end_transition(&mut self) {
        self.candidate = Candidate::None;
        self.forget_approval();
        self.state.asked = None;
        self.window = TrapWindow::default();
        self.state.active = self.active.as_ref().map(|it| it.stored.clone());
        self.state.previous = self.previous.as_ref().map(|it| it.stored.clone());
    }

    fn forget_approval(&mut self) {
        if let Some(examination) = &mut self.examination {
            examination.forget_approval();
        }
    }

    /// Counts a trap of the active version; returns the reason for a rollback, if it is due.
    pub fn trapped(&mut self, now: Instant, input: u64, before: u64, calls: u64) -> Option<String> {
        self.window.trapped(now, input, before, calls)
    }

    /// Samples the call count, for the trap rate of the last minute.
    pub fn count_calls(&mut self, now: Instant) {
        if let Some(active) = &self.active {
            self.window.had(now, active.plugin.stats().calls());
        }
    }

    /// Marks the state as changed since it was last written to disk.
    pub fn mark_unsaved(&mut self) {
        self.saved.change();
    }

    /// What could not be written is to be written once more.
    pub fn retry_saving(&mut self) {
        self.saved.retry();
    }

    /// The state to be written to disk, if a write is due.
    #[must_use]
    pub fn unsaved(&self) -> Option<(SlotName, SlotState)> {
        self.saved.is_due().then(|| (self.slot.clone(), self.state.clone()))
    }

    /// What was unsaved was written, or not.
    pub fn note_saved(&mut self, result: Result<(), ()>) -> Written {
        self.saved.note(result)
    }

    /// The slot's status; `builtin` runs where nothing else does.
    #[must_use]
    pub fn view(&self, builtin: Option<&InstalledPlugin>) -> SlotStatus {
        let active = self.serving().or(builtin).cloned();
        SlotStatus {
            is_builtin: active.is_some() && self.serving().is_none(),
            since: self.serving().and(self.active.as_ref()).map(|it| it.stored.since.clone()),
            shadow: self.serving().and(self.active.as_ref()).and_then(|it| it.shadow.clone()),
            active,
            previous: self.state.previous.clone(),
            disabled: self.state.disabled,
            candidate: self.candidate.status(),
            quarantined: self.state.quarantined.clone(),
            is_unsaved: self.saved.has_failed(),
            nodes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine::new("mine".parse().expect("a name"), SlotState::default())
    }

    fn stamp() -> Stamp {
        Stamp::default()
    }

    #[test]
    fn a_candidate_is_examined_again_when_its_binding_may_be_free() {
        for (reason, is_again) in [(RejectedFor::BindingTaken, true), (RejectedFor::Fault, false)] {
            let mut machine = machine();
            assert!(machine.record_scan(Some(&stamp())));
            let begun = machine.begin_examination(Cause::Files(Some(stamp())));
            assert!(begun.settling.ends_at(0), "they were read");
            machine.reject(CandidateStatus::new(), reason);
            assert!(!machine.record_scan(Some(&stamp())));
            machine.binding_may_be_free();
            assert_eq!(machine.record_scan(Some(&stamp())), is_again, "{reason:?}");
            machine.begin_examination(Cause::Files(Some(stamp())));
            machine.binding_may_be_free();
            assert!(!machine.record_scan(Some(&stamp())), "once");
            assert!(machine.is_rejected(), "it is shown until the files are examined");
        }
    }

    #[test]
    fn the_operators_approval_ends_with_the_files_that_they_saw() {
        let mut machine = machine();
        machine.begin_examination(Cause::Files(Some(stamp())));
        machine.reject(CandidateStatus::new(), RejectedFor::Fault);
        let OrderedActivation::Examine(approval) = machine.order_activation() else {
            panic!("what was rejected can be activated");
        };
        assert_eq!(approval, Approval::ByOperator);
        machine.begin_examination(Cause::Order(approval));
        assert!(!machine.record_scan(None), "the examination starts settling again");
        let examination = machine.examination.as_ref().expect("it goes on");
        assert_eq!(examination.approval(), Approval::ByRule);
    }

    #[test]
    fn work_that_was_begun_before_ends_with_the_examination() {
        let mut machine = machine();
        let first = machine.begin_examination(Cause::Files(Some(stamp())));
        assert!(machine.is_newest(first.number));
        machine.disable();
        assert!(!machine.is_newest(first.number));
        assert!(machine.examination.is_none());
        assert!(first.ends_with.handle().is_aborted());
        let OrderedActivation::Examine(approval) = machine.order_activation() else {
            panic!("a slot can be switched on");
        };
        assert_eq!(approval, Approval::ByRule, "what waited has its own rule");
    }
}
