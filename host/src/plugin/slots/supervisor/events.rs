//! What the supervisor tells whoever listens: a plugin is live, was rolled back, or has trapped.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CallFailure, SlotSupervisor};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::installed::InstalledPlugin;

/// The shortest pause between two events of a plugin that traps all the time.
const TRAP_EVENT_INTERVAL: Duration = Duration::from_mins(1);

/// Something that has happened to a slot.
#[derive(Debug, Clone)]
pub struct Event {
    pub what: EventKind,
    pub slot: SlotName,
    /// Which plugin, and why.
    pub facts: Value,
}

/// What can happen to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Another plugin answers its calls.
    Activated,
    /// The one before does again.
    RolledBack,
    /// A call got no answer.
    Trapped,
}

#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(Event) + Send + Sync>);

impl Listener {
    /// Calls `emit` with what happens; it must not block.
    #[must_use]
    pub fn new(emit: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(emit))
    }
}

impl Default for Listener {
    fn default() -> Self {
        Self::new(drop)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl SlotSupervisor {
    /// Tells `listener` what happens from now on.
    #[must_use]
    pub fn with_listener(mut self, listener: Listener) -> Self {
        self.listener = listener;
        self
    }

    pub(super) fn emit(&self, what: EventKind, plugin: &InstalledPlugin, reason: &str) {
        let identity = plugin.identity();
        let slot = plugin.slot().clone();
        let facts = json!({
            "slot": slot.as_str(),
            "plugin": identity.name,
            "version": identity.version,
            "digest": identity.digest,
            "settingsRevision": identity.settings_revision,
            "reason": reason,
        });
        (self.listener.0)(Event { what, slot, facts });
    }

    pub(super) fn emit_trap(&mut self, plugin: &InstalledPlugin, failure: &CallFailure) {
        let now = Instant::now();
        let last = self.trap_events.get(plugin.slot());
        if last.is_none_or(|at| now.duration_since(*at) >= TRAP_EVENT_INTERVAL) {
            self.trap_events.insert(plugin.slot().clone(), now);
            self.emit(EventKind::Trapped, plugin, &failure.to_string());
        }
    }
}
