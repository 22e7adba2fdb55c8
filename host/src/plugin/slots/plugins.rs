//! All plugins of this server: which of them answers which call now, and how they are asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::files::Directory;
use super::orders::{Command, Order, OrderError};
use super::slot_store::SlotStore;
use super::status::Statuses;
use super::table::{Table, TrapSink};
use crate::clock::Clock;
use crate::plugin::config::binding::Binding;
use crate::plugin::config::slot::{SlotConfig, SlotName};
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::promotion::validation::{UNOBSERVED, ValidationInput, Validator};
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::bindings::context;
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::{Line, SlotLog};

/// All plugins of this server.
#[derive(Debug)]
pub struct Plugins {
    pub(super) clock: Clock,
    pub(super) table: ArcSwap<Table>,
    pub(super) builtins: [InstalledPlugin; 4],
    pub(super) statuses: Statuses,
    pub(in crate::plugin) validator: Validator,
    pub(super) directory: Directory,
    pub(super) slot_store: SlotStore,
    pub(super) max_component_bytes: u64,
    pub(super) logs: Mutex<HashMap<SlotName, SlotLog>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) trap_sink: TrapSink,
}

impl Plugins {
    /// The plugins of this moment; hold it for the whole of one message.
    #[must_use]
    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Ends what is being compiled, and compiles nothing more: the server is to end.
    pub fn stop_compiling(&self) {
        self.validator.stop_compiling();
    }

    /// The context of a call that is made now.
    #[must_use]
    pub fn context(&self, call_id: String) -> CallContext {
        context(call_id, &self.clock)
    }

    #[must_use]
    pub fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// The operator's directory.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Bytes that a component may have.
    #[must_use]
    pub fn max_component_bytes(&self) -> u64 {
        self.max_component_bytes
    }

    /// The newest lines that the plugins of a slot logged, and how many lines were dropped.
    #[must_use]
    pub fn log_lines(&self, slot: &SlotName, limit: usize) -> (Vec<Line>, u64) {
        self.log(slot).tail(limit)
    }

    /// Has the supervisor carry out an order.
    pub async fn order(&self, slot: SlotName, order: Order) -> Result<(), OrderError> {
        self.give(slot, order, None).await
    }

    /// The same by somebody who has seen the slot as it was with that mark: refused where something else is active or
    /// waits by now.
    pub async fn order_on(
        &self,
        slot: SlotName,
        order: Order,
        seen: String,
    ) -> Result<(), OrderError> {
        self.give(slot, order, Some(seen)).await
    }

    async fn give(
        &self,
        slot: SlotName,
        order: Order,
        seen: Option<String>,
    ) -> Result<(), OrderError> {
        let (answer, answered) = oneshot::channel();
        let command = Command { slot, order, seen, answer };
        self.commands.send(command).await.map_err(|_| OrderError::ShuttingDown)?;
        answered.await.map_err(|_| OrderError::ShuttingDown)?
    }

    /// Shows what other nodes have changed until now. A server without other nodes has nothing to wait for.
    pub async fn refresh(&self) {
        if self.slot_store.shared.is_some() {
            let any = Kind::Plan.builtin_slot();
            // A server that stops shows what it has.
            drop(self.order(any, Order::Refresh).await);
        }
    }

    /// Validates a component outside of any slot, as it would be in that one.
    pub async fn try_out(&self, candidate: &ValidationInput) -> Result<InstalledPlugin, LoadError> {
        let log = self.validator.log(&candidate.slot);
        self.validator.validate(candidate, log, None, UNOBSERVED).await
    }

    /// Validates again a component that was validated before, without checking its signature again.
    pub async fn try_again(
        &self,
        candidate: &ValidationInput,
    ) -> Result<InstalledPlugin, LoadError> {
        self.validator.revalidate(candidate, self.validator.log(&candidate.slot)).await
    }

    /// What the operator says of a slot; nothing where there is no such slot.
    #[must_use]
    pub fn config_of(&self, slot: &SlotName) -> Arc<SlotConfig> {
        let active = self.statuses.slot(slot).and_then(|view| view.active);
        active.map(|active| Arc::clone(active.config())).unwrap_or_default()
    }

    /// A component by its digest, if its bytes are still kept or are built in.
    pub async fn component(&self, digest: &str) -> Option<Artifact> {
        let builtin =
            self.builtins.iter().map(InstalledPlugin::artifact).find(|it| it.digest() == digest);
        if let Some(builtin) = builtin {
            return Some(builtin.clone());
        }
        self.slot_store.load(digest).await
    }

    /// What answers the calls of that binding.
    #[must_use]
    pub fn serving(&self, kind: Kind, binding: &Binding) -> InstalledPlugin {
        self.table.load().serving(kind, &binding.scope())
    }

    pub(super) fn builtin(&self, kind: Kind) -> InstalledPlugin {
        let [renderer, domain, plan, mjml] = &self.builtins;
        match kind {
            Kind::Renderer => renderer.clone(),
            Kind::Domain => domain.clone(),
            Kind::Plan => plan.clone(),
            Kind::Mjml => mjml.clone(),
        }
    }

    /// The built-in plugins come last, so that they cover what nobody else does.
    pub(in crate::plugin) fn set_table(
        &self,
        mut live: Vec<InstalledPlugin>,
        shadows: Vec<Arc<Shadow>>,
    ) {
        live.extend(self.builtins.iter().cloned());
        self.table.store(Arc::new(Table::new(live, shadows, self.trap_sink.clone())));
    }

    pub(super) fn log(&self, slot: &SlotName) -> SlotLog {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || SlotLog::of_slot(slot.as_str(), self.clock.clone());
        logs.entry(slot.clone()).or_insert_with(new).clone()
    }
}
