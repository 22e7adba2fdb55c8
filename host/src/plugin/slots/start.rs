//! The start of the plugin host: the built-in plugins, and in each slot what was last known to be good.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use super::files::Directory;
use super::plugins::Plugins;
use super::shared::{Given, SharedError, SharedSlots};
use super::slot_store::{SlotStore, within};
use super::state::{self, SlotState, StateDirectory, Stored};
use super::status::Statuses;
use super::supervisor::{Machine, Nodes, PluginVersion, SlotSupervisor};
use super::table::{Table, TrapSink};
use crate::clock::Clock;
use crate::plugin::config::slot::{SlotConfig, SlotName};
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::validation::{UNOBSERVED, ValidationInput, Validator};
use crate::plugin::runtime::cache::CompiledCache;
use crate::plugin::runtime::compiler::Compiler;
use crate::plugin::runtime::engine::PluginEngine;
use crate::plugin::runtime::error::ComponentError;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::runtime::loader::Loader;
use crate::plugin::runtime::log::{Audience, SlotLog};
use crate::plugin::runtime::signature::{PublicKey, SignatureRule};

/// Orders and traps that may wait for the supervisor.
const MAX_WAITING_ORDERS: usize = 16;
const MAX_WAITING_TRAPS: usize = 64;

/// What the plugin host is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// What each kind may use.
    pub limits: Limits,
    /// The operator's directory.
    pub directory: PathBuf,
    /// Where slots are remembered; only this server may write it. With `shared`, a cache of components.
    pub state: PathBuf,
    /// The database in which slots are remembered, where several nodes share them.
    pub shared: Option<Arc<dyn SharedSlots>>,
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
    pub max_component_bytes: u64,
    /// Every how many calls one is recorded; 0 for none.
    pub sample_every: u64,
}

/// Why the plugin host did not start.
#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    /// A built-in plugin, or the engine.
    #[error("a built-in plugin cannot be loaded: {0}")]
    Builtin(#[from] LoadError),
    #[error("the directory {path} for plugins cannot be used: {source}")]
    Directory { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Shared(#[from] SharedError),
}

impl Plugins {
    /// Starts with the built-in plugins and with what was last known to be good in each slot. What
    /// is in the operator's directory now is looked at by the [`SlotSupervisor`], once it runs.
    ///
    /// # Errors
    /// The machine cannot run the engine, a built-in plugin did not pass its own test, or a
    /// directory cannot be used.
    pub async fn start(
        options: Options,
        clock: Clock,
    ) -> Result<(Arc<Self>, SlotSupervisor), PluginsError> {
        let at = |path: &PathBuf| {
            let path = path.clone();
            move |source| PluginsError::Directory { path, source }
        };
        let directory = Directory::open(&options.directory).map_err(at(&options.directory))?;
        let remembered = StateDirectory::open(&options.state).map_err(at(&options.state))?;
        let slot_store = SlotStore { directory: remembered, shared: options.shared };
        let engine = PluginEngine::start()
            .map_err(|error| LoadError::from(ComponentError::Engine(error)))?;
        let cache = CompiledCache::open(&options.compiled, &options.secret);
        let loader = Loader::new(engine, (cache, options.compiler), clock.clone());
        let loader = loader.map_err(LoadError::from)?;
        let validator = Validator::new(
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
            let (validator, logs) = (&validator, &logs);
            async move {
                let candidate = ValidationInput::builtin(kind);
                let log = logs.get(&candidate.slot).cloned();
                let log = log.unwrap_or_else(|| validator.log(&candidate.slot));
                validator.validate(&candidate, log, None, UNOBSERVED).await
            }
        };
        let (renderer, domain, plan, mjml) = tokio::try_join!(
            builtin(Kind::Renderer),
            builtin(Kind::Domain),
            builtin(Kind::Plan),
            builtin(Kind::Mjml),
        )?;
        let builtins = [renderer, domain, plan, mjml];
        let (commands, ordered) = mpsc::channel(MAX_WAITING_ORDERS);
        let (traps, trapped) = mpsc::channel(MAX_WAITING_TRAPS);
        let trap_sink = TrapSink { traps, sample_every: options.sample_every };
        let plugins = Arc::new(Self {
            clock,
            table: ArcSwap::from_pointee(Table::new(
                builtins.to_vec(),
                Vec::new(),
                trap_sink.clone(),
            )),
            builtins,
            statuses: Statuses::default(),
            validator,
            directory,
            slot_store,
            max_component_bytes: options.max_component_bytes,
            logs: Mutex::new(logs),
            commands,
            trap_sink,
        });
        let last_known = plugins.last_known_good().await?;
        let supervisor = SlotSupervisor::new(Arc::clone(&plugins), last_known, ordered, trapped);
        Ok((plugins, supervisor))
    }

    /// What ran in each slot when the server stopped. What cannot be made again is reported; then
    /// the one before it runs, or the built-in one.
    async fn last_known_good(
        &self,
    ) -> Result<(BTreeMap<SlotName, Machine>, Option<Nodes>), SharedError> {
        let mut machines = BTreeMap::new();
        let mut nodes = self.slot_store.shared.clone().map(Nodes::new);
        for kind in Kind::ALL {
            let slot = kind.builtin_slot();
            machines.insert(slot.clone(), Machine::new(slot, state::SlotState::default()));
        }
        let (slots, are_brought) = match &mut nodes {
            None => (self.slot_store.directory.slots(), false),
            Some(nodes) => self.shared_slots(nodes).await?,
        };
        for (slot, state) in slots {
            let active = self.revive(&slot, state.active.clone()).await;
            let previous = self.revive(&slot, state.previous.clone()).await;
            let mut machine = Machine::restored(slot.clone(), state, active, previous);
            if are_brought {
                machine.mark_unsaved();
            }
            machines.insert(slot, machine);
        }
        drop_second_bindings(&mut machines);
        Ok((machines, nodes))
    }

    /// The slots that nodes share. The first node brings those of its data directory, where it has run alone until now;
    /// answers whether they are such ones.
    async fn shared_slots(
        &self,
        nodes: &mut Nodes,
    ) -> Result<(Vec<(SlotName, SlotState)>, bool), SharedError> {
        let changes = nodes.changes().await?;
        if !changes.is_empty() {
            let taken = changes.into_iter().map(|it| (it.slot.clone(), nodes.take(it)));
            return Ok((taken.collect(), false));
        }
        let slots = self.slot_store.directory.slots();
        for (slot, state) in &slots {
            for version in [&state.active, &state.previous].into_iter().flatten() {
                let digest = version.digest.as_deref();
                let component = digest.and_then(|it| self.slot_store.directory.load(it));
                if let (Some(shared), Some(component)) = (&self.slot_store.shared, component) {
                    within(shared.keep(&component)).await?;
                }
            }
            nodes.of(slot).given = state.active.as_ref().map(Given::of_version);
        }
        Ok((slots, true))
    }

    async fn revive(&self, slot: &SlotName, stored: Option<Stored>) -> Option<PluginVersion> {
        let stored = stored?;
        match self.make_again(slot, &stored).await {
            Ok(plugin) => Some(PluginVersion { plugin, stored, shadow: None }),
            Err(error) => {
                let digest = stored.digest.as_deref().unwrap_or("the built-in plugin");
                tracing::error!(%slot, digest, %error, "cannot restore a plugin that was active before the restart");
                None
            }
        }
    }

    /// Makes a version again that was validated before, here or on another node.
    pub(super) async fn make_again(
        &self,
        slot: &SlotName,
        stored: &Stored,
    ) -> Result<InstalledPlugin, LoadError> {
        let component = match &stored.digest {
            Some(digest) => {
                Some(self.slot_store.load(digest).await.ok_or_else(|| LoadError::Lost)?)
            }
            None => None,
        };
        let candidate = ValidationInput {
            slot: slot.clone(),
            component,
            signature: stored.signature.clone(),
            config: Arc::new(SlotConfig::parse(slot, &stored.config)?),
            settings_revision: stored.settings_revision,
        };
        self.validator.validate(&candidate, self.log(slot), None, UNOBSERVED).await
    }
}

/// Two slots with one binding were never live together; a state that says so was tampered with.
fn drop_second_bindings(machines: &mut BTreeMap<SlotName, Machine>) {
    let mut seen = Vec::new();
    for (slot, machine) in machines {
        let Some(serving) = machine.serving() else { continue };
        let binding = (serving.kind(), serving.config().binding.clone());
        if seen.contains(&binding) {
            tracing::error!(%slot, binding = %binding.1, "plugin not started: another slot has the same binding");
            machine.drop_active();
        } else {
            seen.push(binding);
        }
    }
}
