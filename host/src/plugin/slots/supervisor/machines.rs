//! The machines of all slots.

use std::collections::BTreeMap;

use super::machine::Machine;
use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::slots::state::SlotState;

/// None is ever taken out, so that a slot cannot vanish under work that was begun for it.
#[derive(Debug)]
pub struct Machines(BTreeMap<SlotName, Machine>);

impl Machines {
    pub fn new(machines: BTreeMap<SlotName, Machine>) -> Self {
        Self(machines)
    }

    /// The machine of a slot; an empty one where the slot is new.
    pub fn of(&mut self, slot: &SlotName) -> &mut Machine {
        let new = || Machine::new(slot.clone(), SlotState::default());
        self.0.entry(slot.clone()).or_insert_with(new)
    }

    /// Whether the slot is known.
    pub fn has(&self, slot: &SlotName) -> bool {
        self.0.contains_key(slot)
    }

    pub fn slots(&self) -> Vec<SlotName> {
        self.0.keys().cloned().collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Machine> {
        self.0.values()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.0.values_mut()
    }

    /// Refuses a plugin whose binding another slot has.
    pub fn check_binding(&self, plugin: &InstalledPlugin) -> Result<(), LoadError> {
        let binding = &plugin.config().binding;
        let other = self.all().filter_map(Machine::serving).find(|other| {
            other.kind() == plugin.kind()
                && other.config().binding == *binding
                && other.slot() != plugin.slot()
        });
        match other {
            Some(other) => {
                Err(LoadError::Taken { other: other.slot().clone(), binding: binding.clone() })
            }
            None if *binding == Binding::Server && plugin.slot().builtin_kind().is_none() => {
                let other = plugin.kind().builtin_slot();
                Err(LoadError::Taken { other, binding: Binding::Server })
            }
            None => Ok(()),
        }
    }
}
