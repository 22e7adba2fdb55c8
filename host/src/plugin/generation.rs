//! A generation: one component, proven, with its settings; and instances of it.

use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime::component::Linker;
use wasmtime::{Store, Trap};

use super::bindings::world::{Manifest, World};
use super::cache::CompiledCache;
use super::decision::Identity;
use super::engine::{PluginEngine, TICK};
use super::error::{CallFailure, LoadError};
use super::inspect::inspect;
use super::limits::CallLimits;
use super::sandbox::{self, Guest};
use crate::clock::Clock;

/// Makes generations.
pub struct Loader {
    engine: PluginEngine,
    linker: Linker<Guest>,
    cache: CompiledCache,
    clock: Clock,
}

/// A component that passed every step up to its own test.
pub struct Generation<W: World> {
    identity: Identity,
    summary: String,
    engine: PluginEngine,
    pre: W::Pre,
    limits: CallLimits,
    settings: String,
    clock: Clock,
}

/// One configured instance.
pub struct Instance<W: World> {
    world: W,
    store: Store<Guest>,
    plugin: String,
    limits: CallLimits,
    clock: Clock,
}

/// What a call is bounded by.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// A call for a message.
    Call,
    /// A call that prepares: `describe`, `configure`, `self-test`, `compile`.
    Prepare,
}

impl Loader {
    /// A loader on that engine.
    pub fn new(
        engine: PluginEngine,
        cache: CompiledCache,
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let mut linker = Linker::new(engine.wasmtime());
        sandbox::link(&mut linker).map_err(LoadError::Engine)?;
        Ok(Self { engine, linker, cache, clock })
    }

    /// Takes a component through compilation, inspection, linking, configuration and its own test.
    pub async fn load<W: World>(
        &self,
        wasm: &'static [u8],
        limits: CallLimits,
        settings: &str,
    ) -> Result<Generation<W>, LoadError> {
        let digest = format!("sha256:{}", hex(&Sha256::digest(wasm)));
        let component = {
            let (engine, cache, digest) =
                (self.engine.wasmtime().clone(), self.cache.clone(), digest.clone());
            off_the_request_threads(move || cache.component(&engine, wasm, &digest)).await?
        };
        inspect(self.engine.wasmtime(), &component, W::KIND)?;
        let pre = self.linker.instantiate_pre(&component).map_err(LoadError::Link)?;
        let pre = W::pre(pre).map_err(LoadError::Link)?;
        let mut generation = Generation {
            identity: Identity {
                name: W::KIND.to_string(),
                version: String::new(),
                digest,
                settings_revision: 0,
            },
            summary: String::new(),
            engine: self.engine.clone(),
            pre,
            limits,
            settings: settings.to_owned(),
            clock: self.clock.clone(),
        };
        let manifest = generation.describe().await?;
        generation.identity.name = manifest.name;
        generation.identity.version = manifest.version;
        generation.summary = manifest.summary;
        generation.prove().await?;
        Ok(generation)
    }
}

impl<W: World> Generation<W> {
    /// Which component it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What the plugin says of itself.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// A new instance, configured.
    pub async fn instance(&self) -> Result<Instance<W>, CallFailure> {
        let mut instance = self.unconfigured().await?;
        instance.arm(Budget::Prepare);
        let configured = instance.world.configure(&mut instance.store, &self.settings).await;
        match instance.outcome("configure", Budget::Prepare, configured)? {
            Ok(()) => Ok(instance),
            Err(faults) => Err(instance.broken("configure", super::error::list(&faults))),
        }
    }

    async fn unconfigured(&self) -> Result<Instance<W>, CallFailure> {
        let guest = Guest::new(self.identity.name.clone(), self.limits.memory_bytes);
        let mut store = sandbox::store(self.engine.wasmtime(), guest, self.limits.output_bytes);
        arm(&mut store, self.limits.prepare(), &self.clock);
        let world = W::instantiate(&self.pre, &mut store).await;
        match world {
            Ok(world) => Ok(Instance {
                world,
                store,
                plugin: self.identity.name.clone(),
                limits: self.limits,
                clock: self.clock.clone(),
            }),
            Err(error) => Err(CallFailure::Trapped {
                plugin: self.identity.name.clone(),
                call: "instantiate",
                detail: cause(&error),
            }),
        }
    }

    async fn describe(&self) -> Result<Manifest, CallFailure> {
        let mut instance = self.unconfigured().await?;
        instance.arm(Budget::Prepare);
        let described = instance.world.describe(&mut instance.store).await;
        instance.outcome("describe", Budget::Prepare, described)
    }

    /// `configure` and `self-test`, as the last step before traffic.
    async fn prove(&self) -> Result<(), LoadError> {
        let name = || self.identity.name.clone();
        let mut instance = self.unconfigured().await?;
        instance.arm(Budget::Prepare);
        let configured = instance.world.configure(&mut instance.store, &self.settings).await;
        instance
            .outcome("configure", Budget::Prepare, configured)?
            .map_err(|faults| LoadError::Settings { name: name(), faults })?;
        let mut context = super::context("self-test".to_owned(), &self.clock);
        context.dry_run = true;
        instance.arm(Budget::Prepare);
        let tested = instance.world.self_test(&mut instance.store, &context).await;
        let tests = instance.outcome("self-test", Budget::Prepare, tested)?;
        match tests.into_iter().find(|test| !test.passed) {
            None => Ok(()),
            Some(failed) => {
                Err(LoadError::SelfTest { name: name(), test: failed.name, detail: failed.detail })
            }
        }
    }
}

impl<W: World> Instance<W> {
    /// The world, and the store that its calls need. [`Instance::arm`] comes first, always.
    pub fn parts(&mut self) -> (&W, &mut Store<Guest>) {
        (&self.world, &mut self.store)
    }

    /// Gives the guest the time of one call.
    pub fn arm(&mut self, budget: Budget) {
        let time = self.time(budget);
        arm(&mut self.store, time, &self.clock);
    }

    /// What a finished call means; a failed one says which limit or which bug it was.
    pub fn outcome<T>(
        &mut self,
        call: &'static str,
        budget: Budget,
        result: wasmtime::Result<T>,
    ) -> Result<T, CallFailure> {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let plugin = self.plugin.clone();
        let knobs = W::KIND.knobs();
        let interrupted = matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt));
        if interrupted && self.store.data().time_exceeded() {
            let (knob, limit_ms) = match budget {
                Budget::Call => (knobs.call, self.limits.call().as_millis()),
                Budget::Prepare => (knobs.prepare, self.limits.prepare().as_millis()),
            };
            return Err(CallFailure::Time { plugin, call, knob, limit_ms });
        }
        if self.store.data().memory_exceeded() {
            let limit = self.limits.memory_bytes;
            return Err(CallFailure::Memory { plugin, call, knob: knobs.memory, limit });
        }
        let detail = cause(&error);
        if detail.contains("fuel allocated for hostcalls") {
            let limit = self.limits.output_bytes;
            return Err(CallFailure::Output { plugin, call, knob: knobs.output, limit });
        }
        let detail = match self.store.data().last_words() {
            words if words.is_empty() => detail,
            words => format!("{detail}; it wrote: {words}"),
        };
        Err(CallFailure::Trapped { plugin, call, detail })
    }

    /// The plugin answered what the interface does not allow.
    pub fn broken(&self, call: &'static str, detail: String) -> CallFailure {
        CallFailure::BrokenPromise { plugin: self.plugin.clone(), call, detail }
    }

    /// The plugin said that it cannot decide.
    pub fn gave_up(&self, call: &'static str, detail: String) -> CallFailure {
        CallFailure::GaveUp { plugin: self.plugin.clone(), call, detail }
    }

    fn time(&self, budget: Budget) -> Duration {
        match budget {
            Budget::Call => self.limits.call(),
            Budget::Prepare => self.limits.prepare(),
        }
    }
}

fn arm(store: &mut Store<Guest>, time: Duration, clock: &Clock) {
    let ticks = time.as_millis().div_ceil(TICK.as_millis()).max(1);
    let ticks = u64::try_from(ticks).unwrap_or(u64::MAX / 2);
    store.data_mut().begin_call(ticks, clock.now().unsigned_millis());
    store.set_epoch_deadline(1);
}

/// The innermost cause: wasmtime wraps it in a backtrace of the guest.
fn cause(error: &wasmtime::Error) -> String {
    error.root_cause().to_string()
}

async fn off_the_request_threads<T: Send + 'static>(
    work: impl FnOnce() -> wasmtime::Result<T> + Send + 'static,
) -> Result<T, LoadError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(LoadError::Compile),
        Err(panicked) => Err(LoadError::Compile(wasmtime::Error::new(panicked))),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

impl<W: World> std::fmt::Debug for Generation<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation").field("identity", &self.identity).finish_non_exhaustive()
    }
}
