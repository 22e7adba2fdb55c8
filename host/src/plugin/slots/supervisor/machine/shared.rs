//! A slot that several nodes share: what this node takes over from what another one has written.

use super::plugin_version::PluginVersion;
use super::saved::Saved;
use super::{Files, Machine};
use crate::plugin::slots::files::Stamp;
use crate::plugin::slots::rollback::TrapWindow;
use crate::plugin::slots::state::{SlotState, Stored};
use crate::plugin::slots::status::CandidateStatus;

impl Machine {
    /// Takes over what another node has written. The versions that it names are taken from those of the slot and from
    /// `loaded`; what runs goes on until the version is loaded that is to run.
    pub fn adopt(&mut self, state: SlotState, loaded: &[PluginVersion]) {
        let mut versions = self.versions();
        versions.extend_from_slice(loaded);
        let find = |stored: &Stored| {
            let found = versions.iter().find(|it| it.stored.is_same(stored))?;
            Some(PluginVersion { stored: stored.clone(), ..found.clone() })
        };
        self.previous = state.previous.as_ref().and_then(find);
        match &state.active {
            None => self.active = None,
            Some(active) => {
                if let Some(version) = find(active) {
                    self.run(version);
                }
            }
        }
        self.state = state;
        self.saved = Saved::Yes;
    }

    /// A version is loaded: it runs, or can be rolled back to, if the slot still names it.
    pub fn note_loaded(&mut self, version: &PluginVersion) {
        let named = |stored: Option<&Stored>| {
            let stored = stored.filter(|it| it.is_same(&version.stored))?.clone();
            Some(PluginVersion { stored, ..version.clone() })
        };
        if let Some(version) = named(self.state.active.as_ref()) {
            self.run(version);
        }
        if let Some(version) = named(self.state.previous.as_ref()) {
            self.previous = Some(version);
        }
    }

    /// What a rollback brings back on all nodes, where this one has not loaded it.
    pub fn note_previous(&mut self, previous: Option<Stored>) {
        self.previous = None;
        self.state.previous = previous;
    }

    /// The versions that the slot names and this node has not loaded.
    #[must_use]
    pub fn missing(&self) -> Vec<Stored> {
        let lacks = |stored: &Option<Stored>, loaded: &Option<PluginVersion>| {
            let stored = stored.as_ref()?;
            let is_loaded = loaded.as_ref().is_some_and(|it| it.stored.is_same(stored));
            (!is_loaded).then(|| stored.clone())
        };
        let active = lacks(&self.state.active, &self.active);
        active.into_iter().chain(lacks(&self.state.previous, &self.previous)).collect()
    }

    /// Whether what runs here is what the slot runs.
    #[must_use]
    pub fn is_in_step(&self) -> bool {
        let running = self.active.as_ref().map(|it| &it.stored);
        Stored::are_same(self.state.active.as_ref(), running)
    }

    /// All versions of the slot that are loaded.
    #[must_use]
    pub fn versions(&self) -> Vec<PluginVersion> {
        let waiting = self.candidate.waiting().map(|it| &it.version);
        let all = [self.active.as_ref(), self.previous.as_ref(), waiting];
        all.into_iter().flatten().cloned().collect()
    }

    /// The candidate of this node, as it is shown, and what it takes to make it where it is validated.
    #[must_use]
    pub fn own_candidate(&self) -> Option<(CandidateStatus, Option<Stored>)> {
        let version = self.candidate.waiting().map(|it| it.version.stored.clone());
        Some((self.candidate.status()?, version))
    }

    /// Whether the directory was scanned since the start.
    #[must_use]
    pub fn has_seen_files(&self) -> bool {
        !matches!(self.files, Files::Unknown)
    }

    /// Whether the slot is to be examined again although nothing was given to it. From now on its files count as they
    /// are.
    pub fn take_recheck(&mut self, stamp: Option<&Stamp>) -> bool {
        let is_due = matches!(self.files, Files::Recheck);
        if is_due {
            self.files = Files::Seen(stamp.cloned());
        }
        is_due
    }

    /// There are no files on this node, which says nothing: the slot has what it was given.
    pub fn files_are_elsewhere(&mut self) {
        self.files = Files::Seen(None);
    }

    fn run(&mut self, version: PluginVersion) {
        let is_same = |it: &PluginVersion| it.stored.is_same(&version.stored);
        if !self.active.as_ref().is_some_and(is_same) {
            self.window = TrapWindow::default();
        }
        self.active = Some(version);
    }
}
