//! What survives a restart, on disk: the state of the slots and the components that are needed.

use std::sync::Arc;

use super::{Jobs, Manager, jobs};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::kind::Kind;

impl Manager {
    pub(super) fn remember_the_rest(&mut self) {
        let unsaved = self.machines.values().filter(|it| it.is_unsaved);
        let slots: Vec<SlotName> = unsaved.map(|it| it.slot.clone()).collect();
        for slot in slots {
            self.remember(&slot);
        }
    }

    /// What cannot be written is shown as such, and tried again at every look.
    pub(super) fn remember(&mut self, slot: &SlotName) {
        let Some(machine) = self.machines.get_mut(slot) else { return };
        let was_unsaved = machine.is_unsaved;
        let remembered = self.plugins.state.remember(slot, &machine.state);
        machine.is_unsaved = remembered.is_err();
        if let (Err(error), false) = (&remembered, was_unsaved) {
            tracing::error!(%slot, %error, "cannot save the state of a plugin slot; a restart would bring back an older version; retrying");
        }
        if machine.is_unsaved != was_unsaved {
            self.show(slot);
        }
    }

    /// Has components forgotten that nothing names any more.
    pub(super) fn tidy(&mut self, work: &mut Jobs, evidence: &Arc<dyn Evidence>) {
        if !std::mem::take(&mut self.is_untidy) {
            return;
        }
        let states = self.machines.values().flat_map(|it| [&it.state.active, &it.state.previous]);
        let named = states.filter_map(|it| it.as_ref()?.digest.clone()).collect();
        let (state, evidence) = (self.plugins.state.clone(), Arc::clone(evidence));
        let nobody = Kind::Plan.builtin_slot();
        work.push(Box::pin(async move { (nobody, 0, jobs::tidy(state, named, evidence).await) }));
    }
}
