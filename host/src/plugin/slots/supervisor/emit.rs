//! Tells the listener what happens to the slots.

use std::time::{Duration, Instant};

use serde_json::json;

use super::SlotSupervisor;
use super::events::{Event, EventKind, Listener};
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::runtime::error::CallFailure;

/// The shortest pause between two events of a plugin that traps all the time.
const TRAP_EVENT_INTERVAL: Duration = Duration::from_mins(1);

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
