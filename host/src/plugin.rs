//! The plugin host: three kinds of WebAssembly component, each behind one typed call.
//!
//! A plugin has no file, socket, clock or secret. It cannot stop, stall, grow or crash the server;
//! its failure is a [`CallFailure`], which the journey turns into a refusal. There is no native
//! fall-back. Which plugin answers which call at one moment is a [`table::Table`], swapped as a
//! whole; the [`manager::Manager`] is the only one that swaps it.

mod config;
mod kinds;
mod promotion;
pub mod records;
mod runtime;
mod slots;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;

pub use config::{binding, slot};
pub use kinds::{domain, plan, renderer};
pub use promotion::{cases, evidence, impact, installed, measure, shadow, validation};
pub use records::{decision, sample};
pub use runtime::artifact::Artifact;
pub use runtime::bindings::types::{CallContext, Diagnostic, Pair};
pub use runtime::bindings::world::{Kind, Manifest};
pub use runtime::error::{CallFailure, LoadError};
pub use runtime::limits::{CallLimits, Limits};
pub use runtime::log::Line;
pub use runtime::stage::{Progress, Stage};
pub use runtime::{compiler, inspect, signature};
pub use slots::{files, manager, status, table};

use binding::Binding;
use compiler::Compiler;
use files::Directory;
use installed::Proven;
use manager::{Command, Live, Machine, Manager, Order, OrderError};
use runtime::cache;
use runtime::engine::PluginEngine;
use runtime::generation::Loader;
use runtime::log::{Audience, SlotLog};
use shadow::Shadow;
use signature::{PublicKey, SignatureRule};
use slot::{SlotConfig, SlotName};
use slots::state::{self, StateDirectory, Stored};
use status::Board;
use table::{Table, Ward};
use validation::{Candidate, UNHEARD, Workshop};

/// Orders and traps that may wait for the manager.
const ORDERS: usize = 16;
const TRAPS: usize = 64;

/// What the plugin host is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// What each kind may use.
    pub limits: Limits,
    /// The operator's directory.
    pub directory: PathBuf,
    /// Where slots are remembered; only this server may write it.
    pub state: PathBuf,
    /// Where compiled code is kept; only this server may write it.
    pub compiled: PathBuf,
    /// Keys the digests of compiled code.
    pub secret: Vec<u8>,
    /// What compiles components.
    pub compiler: Compiler,
    /// What is asked of signatures.
    pub signatures: SignatureRule,
    /// Whose signatures are trusted.
    pub trusted: Vec<PublicKey>,
    /// Bytes of a component.
    pub max_component_bytes: u64,
    /// Every how many calls one is recorded; 0 for none.
    pub sample_every: u64,
}

/// All plugins of this server.
#[derive(Debug)]
pub struct Plugins {
    clock: Clock,
    table: ArcSwap<Table>,
    builtins: [Proven; 3],
    board: Board,
    workshop: Workshop,
    directory: Directory,
    state: StateDirectory,
    max_component_bytes: u64,
    logs: Mutex<HashMap<SlotName, SlotLog>>,
    commands: mpsc::Sender<Command>,
    ward: Ward,
}

/// Why the plugin host did not start.
#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    /// A built-in plugin, or the engine.
    #[error("a built-in plugin cannot be loaded: {0}")]
    Builtin(#[from] LoadError),
    /// A directory.
    #[error("the directory {path} for plugins cannot be used: {source}")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Plugins {
    /// Starts with the built-in plugins and with what was last known to be good in each slot. What
    /// is in the operator's directory now is looked at by the [`Manager`], once it runs.
    ///
    /// # Errors
    /// The machine cannot run the engine, a built-in plugin did not pass its own test, or a
    /// directory cannot be used.
    pub async fn start(
        options: Options,
        clock: Clock,
    ) -> Result<(Arc<Self>, Manager), PluginsError> {
        let at = |path: &PathBuf| {
            let path = path.clone();
            move |source| PluginsError::Directory { path, source }
        };
        let directory = Directory::open(&options.directory).map_err(at(&options.directory))?;
        let state = StateDirectory::open(&options.state).map_err(at(&options.state))?;
        let engine = PluginEngine::start()?;
        let cache = cache::CompiledCache::open(&options.compiled, &options.secret);
        let loader = Loader::new(engine, (cache, options.compiler), clock.clone())?;
        let workshop = Workshop::new(
            loader,
            options.limits,
            options.signatures,
            options.trusted,
            (clock.clone(), Audience::Nobody),
        );
        let logs: HashMap<SlotName, SlotLog> = Kind::ALL
            .map(Kind::builtin_slot)
            .map(|slot| (slot.clone(), SlotLog::of_slot(slot.as_str(), clock.clone())))
            .into();
        let builtin = |kind: Kind| {
            let (workshop, logs) = (&workshop, &logs);
            async move {
                let candidate = Candidate::builtin(kind);
                let log = logs.get(&candidate.slot).cloned();
                let log = log.unwrap_or_else(|| workshop.log(&candidate.slot));
                workshop.prove(&candidate, log, None, UNHEARD).await
            }
        };
        let (renderer, domain, plan) =
            tokio::try_join!(builtin(Kind::Renderer), builtin(Kind::Domain), builtin(Kind::Plan),)?;
        let builtins = [renderer, domain, plan];
        let (commands, ordered) = mpsc::channel(ORDERS);
        let (traps, trapped) = mpsc::channel(TRAPS);
        let ward = Ward { traps, sample_every: options.sample_every };
        let plugins = Arc::new(Self {
            clock,
            table: ArcSwap::from_pointee(Table::new(builtins.to_vec(), Vec::new(), ward.clone())),
            builtins,
            board: Board::default(),
            workshop,
            directory,
            state,
            max_component_bytes: options.max_component_bytes,
            logs: Mutex::new(logs),
            commands,
            ward,
        });
        let machines = plugins.last_known_good().await;
        let manager = Manager::new(Arc::clone(&plugins), machines, ordered, trapped);
        Ok((plugins, manager))
    }

    /// The plugins of this moment; hold it for the whole of one message.
    #[must_use]
    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Ends what is being compiled, and compiles nothing more: the server is to end.
    pub fn stop_compiling(&self) {
        self.workshop.stop_compiling();
    }

    /// The context of a call that is made now.
    #[must_use]
    pub fn context(&self, call_id: String) -> CallContext {
        context(call_id, &self.clock)
    }

    /// All slots.
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
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

    /// Has the manager carry out an order.
    ///
    /// # Errors
    /// See [`OrderError`].
    pub async fn order(&self, slot: SlotName, order: Order) -> Result<(), OrderError> {
        let (answer, answered) = oneshot::channel();
        let command = Command { slot, order, answer };
        self.commands.send(command).await.map_err(|_| OrderError::ShuttingDown)?;
        answered.await.map_err(|_| OrderError::ShuttingDown)?
    }

    /// Proves a component outside of any slot, as it would be in that one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn try_out(&self, candidate: &Candidate) -> Result<Proven, LoadError> {
        let log = self.workshop.log(&candidate.slot);
        self.workshop.prove(candidate, log, None, UNHEARD).await
    }

    /// Proves a component that was proven before: its signature was checked then.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn try_again(&self, candidate: &Candidate) -> Result<Proven, LoadError> {
        self.workshop.prove_again(candidate, self.workshop.log(&candidate.slot)).await
    }

    /// What the operator says of a slot; nothing where there is no such slot.
    #[must_use]
    pub fn config_of(&self, slot: &SlotName) -> Arc<SlotConfig> {
        let active = self.board.slot(slot).and_then(|view| view.active);
        active.map(|active| Arc::clone(active.config())).unwrap_or_default()
    }

    /// A component by its digest, if its bytes are still kept or are built in.
    #[must_use]
    pub fn component(&self, digest: &str) -> Option<Artifact> {
        let builtin = self.builtins.iter().map(Proven::artifact).find(|it| it.digest() == digest);
        builtin.cloned().or_else(|| self.state.load(digest))
    }

    /// What answers the calls of that binding.
    #[must_use]
    pub fn serving(&self, kind: Kind, binding: &Binding) -> Proven {
        self.table.load().serving(kind, &binding.scope())
    }

    /// The built-in plugin of a kind.
    fn builtin(&self, kind: Kind) -> Proven {
        let [renderer, domain, plan] = &self.builtins;
        match kind {
            Kind::Renderer => renderer.clone(),
            Kind::Domain => domain.clone(),
            Kind::Plan => plan.clone(),
        }
    }

    /// The built-in plugins come last, so that they cover what nobody else does.
    fn set_table(&self, mut live: Vec<Proven>, shadows: Vec<Arc<Shadow>>) {
        live.extend(self.builtins.iter().cloned());
        self.table.store(Arc::new(Table::new(live, shadows, self.ward.clone())));
    }

    fn log(&self, slot: &SlotName) -> SlotLog {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || SlotLog::of_slot(slot.as_str(), self.clock.clone());
        logs.entry(slot.clone()).or_insert_with(new).clone()
    }

    /// What ran in each slot when the server stopped. What cannot be made again is reported; then
    /// the one before it runs, or the built-in one.
    async fn last_known_good(&self) -> BTreeMap<SlotName, Machine> {
        let mut machines = BTreeMap::new();
        for kind in Kind::ALL {
            let slot = kind.builtin_slot();
            machines.insert(slot.clone(), Machine::new(slot, state::SlotState::default()));
        }
        for (slot, state) in self.state.slots() {
            let mut machine = Machine::new(slot.clone(), state);
            let (active, previous) = (machine.state.active.clone(), machine.state.previous.clone());
            // A slot whose files are gone has one that ran before, and none that is to run.
            let should_run = active.is_some();
            machine.active = self.revive(&slot, active).await;
            machine.previous = self.revive(&slot, previous).await;
            if should_run && machine.active.is_none() {
                machine.active = machine.previous.take();
            }
            machines.insert(slot, machine);
        }
        drop_second_bindings(&mut machines);
        machines
    }

    async fn revive(&self, slot: &SlotName, stored: Option<Stored>) -> Option<Live> {
        let stored = stored?;
        match self.make_again(slot, &stored).await {
            Ok(proven) => Some(Live { proven, stored, shadow: None }),
            Err(error) => {
                let digest = stored.digest.as_deref().unwrap_or("the built-in plugin");
                tracing::error!(%slot, digest, %error, "a plugin that ran before cannot run now");
                None
            }
        }
    }

    async fn make_again(&self, slot: &SlotName, stored: &Stored) -> Result<Proven, LoadError> {
        let component = match &stored.digest {
            Some(digest) => Some(self.state.load(digest).ok_or_else(|| {
                LoadError::File("its bytes are lost or were changed on disk".to_owned())
            })?),
            None => None,
        };
        let candidate = Candidate {
            slot: slot.clone(),
            component,
            signature: stored.signature.clone(),
            config: Arc::new(SlotConfig::read(slot, &stored.config)?),
            settings_revision: stored.settings_revision,
        };
        self.workshop.prove(&candidate, self.log(slot), None, UNHEARD).await
    }
}

/// Two slots with one binding were never live together; a state that says so was tampered with.
fn drop_second_bindings(machines: &mut BTreeMap<SlotName, Machine>) {
    let mut seen = Vec::new();
    for (slot, machine) in machines {
        let Some(serving) = machine.serving() else { continue };
        let binding = (serving.kind(), serving.config().binding.clone());
        if seen.contains(&binding) {
            tracing::error!(%slot, binding = %binding.1, "a second plugin with this binding does not run");
            machine.active = None;
        } else {
            seen.push(binding);
        }
    }
}

fn context(call_id: String, clock: &Clock) -> CallContext {
    CallContext {
        call_id,
        now_unix_ms: clock.now().unsigned_millis(),
        locale: None,
        dry_run: false,
        extra: Vec::new(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
