//! What the supervisor tells whoever listens: a plugin is live, was rolled back, or has trapped.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::plugin::config::slot::SlotName;

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
pub struct Listener(pub(super) Arc<dyn Fn(Event) + Send + Sync>);

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
