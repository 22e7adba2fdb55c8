//! What survives a restart, on disk or in the database that nodes share: the state of the slots and the components that
//! are needed.

use std::io;
use std::sync::Arc;

use super::machine::{Machine, Written};
use super::nodes::Nodes;
use super::{RunningJobs, SlotSupervisor, blocking, jobs};
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::kind::Kind;

impl SlotSupervisor {
    /// What could not be written is written once more.
    pub(super) fn retry_saving(&mut self) {
        self.machines.all_mut().for_each(Machine::retry_saving);
    }

    /// Writes the state of the slots that changed, off the runtime's workers, and shows them then.
    /// What cannot be written is shown as such, and tried again at every scan.
    /// Answers the slots that another node changed at the same time: its change holds, and that of this node is dropped.
    pub(super) async fn save(&mut self, work: &mut RunningJobs) -> Vec<SlotName> {
        // On a node that is alone an activation holds before the order for it is answered.
        self.decide_promotions();
        let unsaved: Vec<_> = self.machines.all().filter_map(Machine::unsaved).collect();
        let mut dropped = Vec::new();
        for (slot, state) in unsaved {
            let saved = if let Some(nodes) = &mut self.nodes {
                match nodes.save(&slot, state).await {
                    Ok(true) => Ok(()),
                    Ok(false) => {
                        dropped.push(slot);
                        continue;
                    }
                    Err(error) => Err(io::Error::other(error)),
                }
            } else {
                let directory = self.plugins.slot_store.directory.clone();
                let name = slot.clone();
                blocking(move || directory.save(&name, &state)).await
            };
            let result = saved.as_ref().copied().map_err(|_| ());
            let Written { show, begins_to_fail } = self.machines.of(&slot).note_saved(result);
            if let (Err(error), true) = (&saved, begins_to_fail) {
                tracing::error!(%slot, %error, "cannot save the state of a plugin slot; a restart would bring back an older version; retrying");
            }
            if show {
                self.show(&slot);
            }
        }
        if !dropped.is_empty() {
            tracing::warn!(slots = ?dropped, "another node changed plugin slots at the same time; its changes hold, and those of this node are dropped");
            self.sync(work).await;
        }
        dropped
    }

    /// Has components forgotten that nothing names any more.
    pub(super) fn tidy(&mut self, work: &mut RunningJobs, evidence: &Arc<dyn Evidence>) {
        if !std::mem::take(&mut self.is_untidy) {
            return;
        }
        let states = self.machines.all().flat_map(|it| [&it.state().active, &it.state().previous]);
        let mut named: Vec<String> = states.filter_map(|it| it.as_ref()?.digest.clone()).collect();
        named.extend(self.nodes.iter().flat_map(Nodes::named));
        let (slot_store, evidence) = (self.plugins.slot_store.clone(), Arc::clone(evidence));
        let nobody = Kind::Plan.builtin_slot();
        work.start(async move {
            (nobody, 0, jobs::delete_unused_components(slot_store, named, evidence).await)
        });
    }
}
