//! How the operator's orders are carried out.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::machine::{Approval, Cause, OrderedActivation};
use super::shared::Elsewhere;
use super::{RunningJobs, SlotSupervisor, blocking};
use crate::plugin::config::settings_file;
use crate::plugin::config::slot::{Activation, SlotName};
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::schema;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::files::check_config_size;
use crate::plugin::slots::orders::{Command, Order, OrderError};
use crate::plugin::slots::shared::Given;
use crate::plugin::slots::state::Asked;

impl SlotSupervisor {
    /// Carries out a command and answers it.
    pub(super) async fn execute(
        &mut self,
        command: Command,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) {
        let Command { slot, order, seen, answer } = command;
        // An order is about what stands there now, whichever node has written it.
        self.sync(work).await;
        let mut result = match self.check_seen(&slot, &order, seen.as_deref()) {
            Ok(()) => self.carry_out(&slot, order, work, evidence).await,
            Err(error) => Err(error),
        };
        if self.save(work).await.contains(&slot) {
            // The examination that the order began would activate its component in place of what the other node has written.
            self.machines.of(&slot).abandon_work();
            self.candidate_changed(&slot);
            self.publish(&slot);
            result = Err(OrderError::Changed(slot));
        }
        // Whoever asked may have gone away.
        drop(answer.send(result));
    }

    /// Refuses an order about something else than what is there now.
    fn check_seen(
        &mut self,
        slot: &SlotName,
        order: &Order,
        seen: Option<&str>,
    ) -> Result<(), OrderError> {
        let Some(seen) = seen.filter(|_| self.machines.has(slot)) else { return Ok(()) };
        let status = self.plugins.statuses.slot(slot).unwrap_or_default();
        if status.mark() != seen {
            return Err(OrderError::Changed(slot.clone()));
        }
        // Newer settings may be in the file already; whoever has seen the active ones has not seen these.
        if matches!(order, Order::Configure { .. }) && self.machines.of(slot).is_examining() {
            return Err(OrderError::SettingsBeingProven(slot.clone()));
        }
        Ok(())
    }

    async fn carry_out(
        &mut self,
        slot: &SlotName,
        order: Order,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        let is_known = self.machines.has(slot);
        match order {
            Order::Refresh => {}
            Order::Install { component, signature, activation } => {
                self.install(slot, component, signature, activation, work, evidence).await?;
            }
            Order::Activate
            | Order::RollBack
            | Order::Disable
            | Order::Shadow { .. }
            | Order::Configure { .. }
                if !is_known =>
            {
                return Err(OrderError::Unknown(slot.clone()));
            }
            Order::Activate => self.activate_by_order(slot, work, evidence)?,
            Order::RollBack => {
                if let Some(error) = self.taken_before(slot) {
                    return Err(OrderError::BindingTaken(Box::new(error)));
                }
                if self.machines.of(slot).active().is_none() {
                    return Err(OrderError::NothingBefore(slot.clone()));
                }
                self.check_loaded(slot)?;
                self.roll_back(slot, "the operator rolled it back");
            }
            Order::Disable => {
                self.machines.of(slot).disable();
                self.forget_what_comes(slot);
                tracing::warn!(%slot, "plugin disabled; a plugin with a broader binding serves its calls");
                self.changed(slot);
            }
            Order::Shadow { calls } => {
                if !self.shadow(slot, calls, work) && !self.shadow_elsewhere(slot, calls) {
                    return Err(OrderError::NothingToShadow(slot.clone()));
                }
            }
            Order::Configure { settings } => {
                self.configure(slot, settings, work, evidence).await?;
            }
        }
        Ok(())
    }

    fn activate_by_order(
        &mut self,
        slot: &SlotName,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        let ordered = match self.activate_elsewhere(slot) {
            Elsewhere::Promoted => return Ok(()),
            Elsewhere::Rejected => OrderedActivation::Examine(Approval::ByOperator),
            Elsewhere::Nothing => self.machines.of(slot).order_activation(),
        };
        let approval = match ordered {
            OrderedActivation::Activate(version) => {
                self.activate(slot, *version);
                return Ok(());
            }
            OrderedActivation::Examine(approval) => approval,
            OrderedActivation::Nothing => return Err(OrderError::NothingToActivate(slot.clone())),
        };
        let active = self.machines.of(slot).active().map(|it| it.plugin.clone());
        if active.is_none_or(|it| self.machines.check_binding(&it).is_ok()) {
            self.machines.of(slot).enable();
            if self.nodes.is_some() {
                self.machines.of(slot).mark_unsaved();
            }
        }
        self.publish(slot);
        self.examine(slot, Cause::Order(approval), work, evidence);
        // Whoever asked sees that there is more to come.
        self.plugins.statuses.candidate(slot, |it| {
            it.stage = Stage::Settling;
            it.rejected = None;
        });
        Ok(())
    }

    /// Writes settings into the slot's file. They are proven as after every change of it, and then live.
    async fn configure(
        &mut self,
        slot: &SlotName,
        settings: Map<String, Value>,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        let active = self.plugins.statuses.slot(slot).and_then(|it| it.active);
        let active = active.ok_or_else(|| OrderError::NothingToConfigure(slot.clone()))?;
        let settings = settings_file::without_nulls(settings);
        let value = Value::Object(settings.clone());
        schema::check(active.manifest(), &value).map_err(OrderError::Settings)?;
        let given = self.known(slot).map(|known| known.given.clone().unwrap_or_default());
        let before = if let Some(given) = &given {
            given.config.clone()
        } else {
            let (directory, name) = (self.plugins.directory.clone(), slot.clone());
            blocking(move || directory.config(&name)).await.map_err(OrderError::Write)?
        };
        // Without a file the slot runs the built-in plugin.
        let before = before.unwrap_or_else(|| format!("kind = \"{}\"\n", active.kind().as_str()));
        let text = settings_file::with_settings(slot, &before, &settings)?;
        if let Some(given) = given {
            check_config_size(slot, &text).map_err(OrderError::Write)?;
            tracing::info!(%slot, "operator changed the settings of the plugin; validating them");
            self.give(slot, Given { config: Some(text), ..given }, work, evidence);
            return Ok(());
        }
        let (directory, name) = (self.plugins.directory.clone(), slot.clone());
        let write = move || directory.configure(&name, &text);
        blocking(write).await.map_err(OrderError::Write)?;
        tracing::info!(%slot, "operator changed the settings of the plugin; validating them");
        self.scan(work, evidence).await;
        Ok(())
    }

    async fn install(
        &mut self,
        slot: &SlotName,
        component: bytes::Bytes,
        signature: Option<String>,
        activation: Option<Activation>,
        work: &mut RunningJobs,
        evidence: &Arc<dyn Evidence>,
    ) -> Result<(), OrderError> {
        let (directory, name) = (self.plugins.directory.clone(), slot.clone());
        let artifact = Artifact::new(component.clone());
        let digest = artifact.digest().to_owned();
        if let Some(known) = self.known(slot) {
            let config = known.given.as_ref().and_then(|it| it.config.clone());
            let given = Given { digest: Some(digest.clone()), signature, config };
            // Before anything names it.
            self.plugins.slot_store.keep(&artifact).await.map_err(OrderError::Write)?;
            let asked = activation.map(|activation| Asked { digest, activation });
            self.machines.of(slot).ask(asked);
            self.give(slot, given, work, evidence);
            return Ok(());
        }
        // Saved before the file is there: a server that is stopped in between would find a component
        // that nobody has asked about.
        let asked = activation.map(|activation| Asked { digest, activation });
        self.machines.of(slot).ask(asked);
        self.changed(slot);
        self.save(work).await;
        let install = move || directory.install(&name, &component, signature.as_deref());
        blocking(install).await.map_err(OrderError::Write)?;
        self.scan(work, evidence).await;
        Ok(())
    }
}
