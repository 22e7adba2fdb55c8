//! What survives a restart, on disk: the state of the slots and the components that are needed.

use std::sync::Arc;

use super::{Jobs, Manager, blocking, jobs};
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::kind::Kind;

impl Manager {
    /// What could not be written is written once more.
    pub(super) fn retry_saving(&mut self) {
        for machine in self.machines.all_mut() {
            machine.must_save |= machine.is_unsaved;
        }
    }

    /// Writes the state of the slots that changed, off the runtime's workers, and shows them then.
    /// What cannot be written is shown as such, and tried again at every scan.
    pub(super) async fn save(&mut self) {
        let mut changed = Vec::new();
        for machine in self.machines.all_mut() {
            if std::mem::take(&mut machine.must_save) {
                changed.push(machine.slot.clone());
            }
        }
        for slot in changed {
            let (directory, name) = (self.plugins.state.clone(), slot.clone());
            let state = self.machines.of(&slot).state.clone();
            let saved = blocking(move || directory.save(&name, &state)).await;
            let machine = self.machines.of(&slot);
            let was_unsaved = std::mem::replace(&mut machine.is_unsaved, saved.is_err());
            let must_show = std::mem::take(&mut machine.must_show);
            if let (Err(error), false) = (&saved, was_unsaved) {
                tracing::error!(%slot, %error, "cannot save the state of a plugin slot; a restart would bring back an older version; retrying");
            }
            if must_show || saved.is_err() != was_unsaved {
                self.show(&slot);
            }
        }
    }

    /// Has components forgotten that nothing names any more.
    pub(super) fn tidy(&mut self, work: &mut Jobs, evidence: &Arc<dyn Evidence>) {
        if !std::mem::take(&mut self.is_untidy) {
            return;
        }
        let states = self.machines.all().flat_map(|it| [&it.state.active, &it.state.previous]);
        let named = states.filter_map(|it| it.as_ref()?.digest.clone()).collect();
        let (state, evidence) = (self.plugins.state.clone(), Arc::clone(evidence));
        let nobody = Kind::Plan.builtin_slot();
        work.push(Box::pin(async move {
            (nobody, 0, jobs::delete_unused_components(state, named, evidence).await)
        }));
    }
}
