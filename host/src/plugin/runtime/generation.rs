//! A generation: one validated component with its settings; and instances of it.

use std::sync::Arc;

use serde_json::Value;
use wasmtime::component::{Component, Linker};

use super::artifact::Artifact;
use super::cache::CompiledCache;
use super::compiler::{CompileError, Compiler};
use super::engine::PluginEngine;
use super::error::{CallFailure, ComponentError};
use super::identity::Identity;
use super::instance::{Budget, Instance, arm, failure};
use super::kind::Kind;
use super::limits::{CallLimits, Meter, Peak};
use super::log::{CallPurpose, SlotLog};
use super::meter::CpuTime;
use super::sandbox::{self, Guest};
use super::stage::{Progress, Stage, enter};
use super::world::{Manifest, World};
use super::{inspect, schema};
use crate::clock::Clock;

/// What a generation is made of, besides its component.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The plugin's settings.
    pub settings: Value,
    pub settings_revision: u32,
    /// What its calls may use.
    pub limits: CallLimits,
    pub log: SlotLog,
}

/// Makes generations.
#[derive(Clone)]
pub struct Loader {
    engine: PluginEngine,
    linker: Arc<Linker<Guest>>,
    cache: CompiledCache,
    compiler: Compiler,
    clock: Clock,
}

/// A component that passed every step up to its own test.
pub struct Generation<W: World> {
    identity: Identity,
    manifest: Manifest,
    engine: PluginEngine,
    pre: W::Pre,
    recipe: Recipe,
    settings: String,
    clock: Clock,
    cpu: CpuTime,
    rehearsals: CpuTime,
    peak: Peak,
}

impl Loader {
    /// A loader on that engine.
    pub fn new(
        engine: PluginEngine,
        (cache, compiler): (CompiledCache, Compiler),
        clock: Clock,
    ) -> Result<Self, ComponentError> {
        let mut linker = Linker::new(engine.wasmtime());
        sandbox::link(&mut linker).map_err(ComponentError::Engine)?;
        Ok(Self { engine, linker: Arc::new(linker), cache, compiler, clock })
    }

    /// Inspects a component and turns it into machine code, off the request threads.
    pub async fn compile(
        &self,
        artifact: &Artifact,
        progress: Progress<'_>,
    ) -> Result<(Kind, Component), ComponentError> {
        enter(progress, Stage::Inspecting)?;
        let kind = inspect::inspect(artifact.bytes())?.kind;
        enter(progress, Stage::Compiling)?;
        let digest = artifact.digest().to_owned();
        if let Some(kept) = self.cached(move |cache, engine| cache.load(engine, &digest)).await? {
            return Ok((kind, kept));
        }
        let code = self.compiler.compile(&self.engine, artifact).await?;
        let digest = artifact.digest().to_owned();
        let component =
            self.cached(move |cache, engine| cache.keep(engine, &digest, &code)).await?;
        Ok((kind, component.map_err(CompileError::Component)?))
    }

    /// Ends what is being compiled, and compiles nothing more.
    pub fn stop_compiling(&self) {
        self.compiler.stop();
    }

    /// Work on the cache, which blocks, off the request threads.
    async fn cached<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CompiledCache, &PluginEngine) -> T + Send + 'static,
    ) -> Result<T, ComponentError> {
        let (cache, engine) = (self.cache.clone(), self.engine.clone());
        let done = tokio::task::spawn_blocking(move || work(&cache, &engine)).await;
        Ok(done.map_err(|panicked| CompileError::Component(wasmtime::Error::new(panicked)))?)
    }

    /// Takes a compiled component through linking, configuration and its own test.
    pub async fn load<W: World>(
        &self,
        artifact: &Artifact,
        component: &Component,
        recipe: Recipe,
        progress: Progress<'_>,
    ) -> Result<Generation<W>, ComponentError> {
        enter(progress, Stage::Linked)?;
        let mut generation = self.linked(artifact, component, recipe)?;
        enter(progress, Stage::Configured)?;
        generation.manifest = generation.described().await?;
        generation.identity.name.clone_from(&generation.manifest.name);
        generation.identity.version.clone_from(&generation.manifest.version);
        let (slot, name) = (generation.recipe.log.slot(), &generation.manifest.name);
        generation.cpu = CpuTime::of_plugin(slot, name, self.engine.ticker());
        schema::check(&generation.manifest, &generation.recipe.settings)?;
        let mut instance = generation.configured(CallPurpose::Service).await?;
        enter(progress, Stage::Tested)?;
        generation.self_test(&mut instance).await?;
        Ok(generation)
    }

    /// What a compiled component says of itself, whatever its settings.
    pub async fn describe<W: World>(
        &self,
        artifact: &Artifact,
        component: &Component,
        recipe: Recipe,
    ) -> Result<Manifest, ComponentError> {
        self.linked::<W>(artifact, component, recipe)?.described().await
    }

    /// Whether the machine code of a component is kept, so that it need not be compiled.
    pub fn is_compiled(&self, artifact: &Artifact) -> bool {
        self.cache.holds(&self.engine, artifact.digest())
    }

    /// Checks the types of a component. Its generation has no manifest yet.
    fn linked<W: World>(
        &self,
        artifact: &Artifact,
        component: &Component,
        recipe: Recipe,
    ) -> Result<Generation<W>, ComponentError> {
        let pre = self.linker.instantiate_pre(component).map_err(ComponentError::Link)?;
        let pre = W::pre(pre).map_err(ComponentError::Link)?;
        let settings = recipe.settings.to_string();
        let slot = recipe.log.slot().to_owned();
        Ok(Generation {
            identity: Identity {
                slot: slot.clone(),
                name: slot.clone(),
                version: String::new(),
                digest: artifact.digest().to_owned(),
                settings_revision: recipe.settings_revision,
            },
            manifest: Manifest::default(),
            engine: self.engine.clone(),
            pre,
            recipe,
            settings,
            clock: self.clock.clone(),
            cpu: CpuTime::of_plugin(&slot, &slot, self.engine.ticker()),
            rehearsals: CpuTime::unseen(self.engine.ticker()),
            peak: Peak::default(),
        })
    }
}

impl<W: World> Generation<W> {
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What its calls may use.
    pub fn limits(&self) -> CallLimits {
        self.recipe.limits
    }

    /// What the plugin says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The CPU time of the generation's calls with that purpose.
    pub fn cpu(&self, purpose: CallPurpose) -> &CpuTime {
        match purpose {
            CallPurpose::Service => &self.cpu,
            CallPurpose::Rehearsal => &self.rehearsals,
        }
    }

    /// The most memory that one of its instances has held.
    pub fn peak(&self) -> &Peak {
        &self.peak
    }

    /// A new instance, configured for a call with that purpose.
    pub async fn instance(&self, purpose: CallPurpose) -> Result<Instance<W>, CallFailure> {
        match self.configured(purpose).await {
            Ok(instance) => Ok(instance),
            Err(ComponentError::Call(failure)) => Err(failure),
            Err(other) => Err(CallFailure::BrokenPromise {
                plugin: self.identity.name.clone(),
                call: "configure",
                detail: other.to_string(),
            }),
        }
    }

    async fn configured(&self, purpose: CallPurpose) -> Result<Instance<W>, ComponentError> {
        let mut instance = self.unconfigured(purpose).await?;
        instance.arm(Budget::Prepare, ("configure", purpose));
        let cpu = self.cpu(purpose).clone();
        let (world, store) = instance.parts();
        let configured = cpu.of(world.configure(store, &self.settings)).await;
        let name = || self.identity.name.clone();
        instance
            .outcome("configure", Budget::Prepare, configured)?
            .map_err(|faults| ComponentError::Settings { name: name(), faults })?;
        Ok(instance)
    }

    async fn unconfigured(&self, purpose: CallPurpose) -> Result<Instance<W>, CallFailure> {
        let limits = self.recipe.limits;
        let name = self.identity.name.clone();
        let meter = Meter::new(limits.memory_bytes, self.peak.clone());
        let guest = Guest::new(name.clone(), self.recipe.log.clone(), meter);
        let mut store = sandbox::store(self.engine.wasmtime(), guest, limits.output_bytes);
        arm(&mut store, limits.prepare(), &self.clock, ("instantiate", purpose));
        let world = match self.cpu(purpose).of(W::instantiate(&self.pre, &mut store)).await {
            Ok(world) => world,
            Err(error) => {
                let call = ("instantiate", Budget::Prepare);
                return Err(failure(W::KIND, &store, &name, limits, call, &error));
            }
        };
        let (clock, cpu) = (self.clock.clone(), (self.cpu.clone(), self.rehearsals.clone()));
        Ok(Instance::new(world, store, name, limits, clock, cpu))
    }

    async fn described(&self) -> Result<Manifest, ComponentError> {
        let manifest = self.describe().await?;
        manifest.check().map_err(|detail| ComponentError::Manifest { detail })?;
        Ok(manifest)
    }

    async fn describe(&self) -> Result<Manifest, CallFailure> {
        let mut instance = self.unconfigured(CallPurpose::Service).await?;
        instance.arm(Budget::Prepare, ("describe", CallPurpose::Service));
        let cpu = self.cpu.clone();
        let (world, store) = instance.parts();
        let described = cpu.of(world.describe(store)).await;
        instance.outcome("describe", Budget::Prepare, described)
    }

    async fn self_test(&self, instance: &mut Instance<W>) -> Result<(), ComponentError> {
        let mut context = super::bindings::context("self-test".to_owned(), &self.clock);
        context.dry_run = true;
        instance.arm(Budget::Prepare, ("self-test", CallPurpose::Service));
        let cpu = self.cpu.clone();
        let (world, store) = instance.parts();
        let tested = cpu.of(world.self_test(store, &context)).await;
        let tests = instance.outcome("self-test", Budget::Prepare, tested)?;
        match tests.into_iter().find(|test| !test.passed) {
            None => Ok(()),
            Some(failed) => Err(ComponentError::SelfTest {
                name: self.identity.name.clone(),
                test: failed.name,
                detail: failed.detail,
            }),
        }
    }
}

impl<W: World> std::fmt::Debug for Generation<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loader")
    }
}
