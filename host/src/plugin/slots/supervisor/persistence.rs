//! What survives a restart, on disk: the state of the slots and the components that are needed.

use std::sync::Arc;

use super::machine::{Machine, Written};
use super::{Jobs, SlotSupervisor, blocking, jobs};
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::kind::Kind;

impl SlotSupervisor {
    /// What could not be written is written once more.
    pub(super) fn retry_saving(&mut self) {
        self.machines.all_mut().for_each(Machine::retry_saving);
    }

    /// Writes the state of the slots that changed, off the runtime's workers, and shows them then.
    /// What cannot be written is shown as such, and tried again at every scan.
    pub(super) async fn save(&mut self) {
        let unsaved: Vec<_> = self.machines.all().filter_map(Machine::unsaved).collect();
        for (slot, state) in unsaved {
            let (directory, name) = (self.plugins.state.clone(), slot.clone());
            let saved = blocking(move || directory.save(&name, &state)).await;
            let result = saved.as_ref().copied().map_err(|_| ());
            let Written { show, begins_to_fail } = self.machines.of(&slot).note_saved(result);
            if let (Err(error), true) = (&saved, begins_to_fail) {
                tracing::error!(%slot, %error, "cannot save the state of a plugin slot; a restart would bring back an older version; retrying");
            }
            if show {
                self.show(&slot);
            }
        }
    }

    /// Has components forgotten that nothing names any more.
    pub(super) fn tidy(&mut self, work: &mut Jobs, evidence: &Arc<dyn Evidence>) {
        if !std::mem::take(&mut self.is_untidy) {
            return;
        }
        let states = self.machines.all().flat_map(|it| [&it.state().active, &it.state().previous]);
        let named = states.filter_map(|it| it.as_ref()?.digest.clone()).collect();
        let (state, evidence) = (self.plugins.state.clone(), Arc::clone(evidence));
        let nobody = Kind::Plan.builtin_slot();
        work.push(Box::pin(async move {
            (nobody, 0, jobs::delete_unused_components(state, named, evidence).await)
        }));
    }
}
