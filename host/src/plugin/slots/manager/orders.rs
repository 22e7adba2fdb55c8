//! How the operator's orders are carried out.

use std::sync::Arc;

use super::machine::Machine;
use super::{Jobs, Manager};
use crate::plugin::config::slot::{Activation, SlotName};
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::orders::{Command, Order, OrderError};
use crate::plugin::slots::state::{Asked, SlotState};

impl Manager {
    /// Carries out a command and answers it.
    pub(super) async fn obey(
        &mut self,
        command: Command,
        work: &mut Jobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let Command { slot, order, answer } = command;
        let result = self.carry_out(&slot, order, work, evidence).await;
        // Whoever asked may have gone away.
        drop(answer.send(result));
    }

    async fn carry_out(
        &mut self,
        slot: &SlotName,
        order: Order,
        work: &mut Jobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        if let Order::Install { component, signature, activation } = order {
            return self.install(slot, component, signature, activation, work, evidence).await;
        }
        if let (Order::RollBack, Some(error)) = (&order, self.taken_before(slot)) {
            return Err(OrderError::Taken(error.to_string()));
        }
        let Some(machine) = self.machines.get_mut(slot) else {
            return Err(OrderError::Unknown(slot.clone()));
        };
        match order {
            Order::Activate => {
                if let Some(pending) = machine.pending.take() {
                    self.activate(slot, pending.into_live());
                    return Ok(());
                }
                let refused = machine.rejected.is_some() || !machine.state.quarantined.is_empty();
                if !machine.state.disabled && !refused {
                    return Err(OrderError::NothingToActivate(slot.clone()));
                }
                // Who switches a slot on means what ran in it, and not a component that waited: that
                // has its own rule.
                let forgives = !machine.state.disabled;
                machine.is_wanted = forgives;
                let active = machine.active.as_ref().map(|it| it.validated.clone());
                let is_free = active.is_none_or(|it| self.refuse_taken(&it).is_ok());
                let Some(machine) = self.machines.get_mut(slot) else { return Ok(()) };
                machine.state.disabled &= !is_free;
                let stamp = machine.stamp.clone();
                self.publish(slot);
                self.examine(slot, stamp, forgives, work, evidence);
                // Whoever asked sees that there is more to come.
                self.plugins.statuses.candidate(slot, |it| {
                    it.stage = Stage::Settling;
                    it.rejected = None;
                });
            }
            Order::RollBack if machine.active.is_none() => {
                return Err(OrderError::NothingBefore(slot.clone()));
            }
            Order::RollBack => self.roll_back(slot, "the operator rolled it back"),
            Order::Disable => {
                machine.begin();
                machine.pending = None;
                machine.state.disabled = true;
                tracing::warn!(%slot, "plugin disabled; a plugin with a broader binding serves its calls");
                self.changed(slot);
            }
            Order::Shadow { .. } if machine.pending.is_none() => {
                return Err(OrderError::NothingToShadow(slot.clone()));
            }
            Order::Shadow { calls } => self.shadow(slot, calls, work),
            Order::Install { .. } => {}
        }
        Ok(())
    }

    async fn install(
        &mut self,
        slot: &SlotName,
        component: bytes::Bytes,
        signature: Option<String>,
        activation: Option<Activation>,
        work: &mut Jobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        let (directory, name) = (self.plugins.directory.clone(), slot.clone());
        let digest = Artifact::new(component.clone()).digest().to_owned();
        let machine = self
            .machines
            .entry(slot.clone())
            .or_insert_with(|| Machine::new(slot.clone(), SlotState::default()));
        // Remembered before the file is there: a server that is stopped in between would find a
        // component that nobody has asked about.
        machine.state.asked = activation.map(|activation| Asked { digest, activation });
        self.changed(slot);
        let written = tokio::task::spawn_blocking(move || {
            directory.install(&name, &component, signature.as_deref())
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(OrderError::Write(error.to_string())),
            Err(panicked) => return Err(OrderError::Write(panicked.to_string())),
        }
        self.look(work, evidence);
        Ok(())
    }
}
