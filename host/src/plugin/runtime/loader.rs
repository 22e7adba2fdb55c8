//! Makes generations: inspects, compiles and links a component, and takes it through its own test.

use std::sync::Arc;

use wasmtime::component::{Component, Linker};

use super::artifact::Artifact;
use super::cache::CompiledCache;
use super::compiler::{CompileError, Compiler};
use super::engine::PluginEngine;
use super::error::ComponentError;
use super::generation::{Generation, GenerationConfig};
use super::inspect;
use super::kind::Kind;
use super::log::CallPurpose;
use super::sandbox::{self, Guest};
use super::stage::{Progress, Stage, enter};
use super::world::{Manifest, World};
use crate::clock::Clock;

#[derive(Clone)]
pub struct Loader {
    engine: PluginEngine,
    linker: Arc<Linker<Guest>>,
    cache: CompiledCache,
    compiler: Compiler,
    clock: Clock,
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
        if let Some(kept) =
            self.with_cache(move |cache, engine| cache.load(engine, &digest)).await?
        {
            return Ok((kind, kept));
        }
        let code = self.compiler.compile(&self.engine, artifact).await?;
        let digest = artifact.digest().to_owned();
        let component =
            self.with_cache(move |cache, engine| cache.keep(engine, &digest, &code)).await?;
        Ok((kind, component.map_err(CompileError::Component)?))
    }

    /// Ends what is being compiled, and compiles nothing more.
    pub fn stop_compiling(&self) {
        self.compiler.stop();
    }

    /// Runs blocking work on the cache off the request threads.
    async fn with_cache<T: Send + 'static>(
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
        config: GenerationConfig,
        progress: Progress<'_>,
    ) -> Result<Generation<W>, ComponentError> {
        enter(progress, Stage::Linking)?;
        let mut generation = self.linked(artifact, component, config)?;
        enter(progress, Stage::Configuring)?;
        generation.read_manifest().await?;
        let mut instance = generation.configured_instance(CallPurpose::Service).await?;
        enter(progress, Stage::Testing)?;
        generation.self_test(&mut instance).await?;
        Ok(generation)
    }

    /// The manifest of a compiled component, whatever its settings.
    pub async fn describe<W: World>(
        &self,
        artifact: &Artifact,
        component: &Component,
        config: GenerationConfig,
    ) -> Result<Manifest, ComponentError> {
        self.linked::<W>(artifact, component, config)?.checked_manifest().await
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
        config: GenerationConfig,
    ) -> Result<Generation<W>, ComponentError> {
        let pre = self.linker.instantiate_pre(component).map_err(ComponentError::Link)?;
        let pre = W::pre(pre).map_err(ComponentError::Link)?;
        Ok(Generation::linked(pre, artifact, config, (&self.engine, &self.clock)))
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loader")
    }
}
