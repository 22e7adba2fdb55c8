//! The template renderer: warm instances, each with its compiled templates.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;
use tokio::sync::Semaphore;
use wasmtime::component::ResourceAny;

use super::bindings::template::TemplateRenderer;
use super::bindings::template::exports::waxwing::plugin::renderer as wit;
use super::bindings::types::{CallContext, Diagnostic, Failure};
use super::bindings::world::Kind;
use super::decision::{Decision, Identity};
use super::error::CallFailure;
use super::generation::{Budget, Generation, Instance};

pub use wit::{Body, Output, Part, Source, Template, Variable};

use crate::id::TemplateId;

/// Renders of one instance before it makes room for a fresh one.
const RECYCLED_AFTER: u32 = 1_000;
/// Compiled templates of one instance, and what they may weigh together.
const TEMPLATES: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
const WEIGHT: u64 = 24 << 20;

/// The slot's generation with its warm instances.
#[derive(Debug)]
pub struct Renderer {
    generation: Generation<TemplateRenderer>,
    places: Semaphore,
    warm: Mutex<Vec<Warm>>,
}

/// A published version of a template never changes, so its compiled form can be kept under this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionKey {
    /// The template.
    pub template: TemplateId,
    /// Its version.
    pub revision: u64,
}

/// Why a template was not rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderFailure {
    /// The sender's data is wrong.
    #[error("the data does not fit the template")]
    Data(Vec<Diagnostic>),
    /// The published template is wrong.
    #[error("the published template cannot be rendered")]
    Template(Vec<Diagnostic>),
    /// The plugin gave no answer.
    #[error(transparent)]
    Plugin(#[from] CallFailure),
}

struct Warm {
    instance: Instance<TemplateRenderer>,
    compiled: LruCache<VersionKey, (ResourceAny, u32)>,
    weight: u64,
    renders: u32,
}

impl Renderer {
    pub(super) fn new(generation: Generation<TemplateRenderer>) -> Self {
        let places = std::thread::available_parallelism().map_or(2, NonZeroUsize::get) * 2;
        Self { generation, places: Semaphore::new(places), warm: Mutex::new(Vec::new()) }
    }

    pub(super) fn about(&self) -> (&Identity, &str) {
        (self.generation.identity(), self.generation.summary())
    }

    /// Compiles a template that is not published yet and says what it reads.
    ///
    /// # Errors
    /// Every fault of the template at once, or the plugin gave no answer.
    pub async fn variables(&self, template: &Template) -> Result<Vec<Variable>, RenderFailure> {
        let mut instance = self.generation.instance().await?;
        let compiled = compile(&mut instance, template).await?;
        instance.arm(Budget::Prepare);
        let (world, store) = instance.parts();
        let compiled_template = world.waxwing_plugin_renderer().compiled();
        let called = compiled_template.call_variables(store, compiled).await;
        Ok(instance.outcome("variables", Budget::Prepare, called)?)
    }

    /// Renders every part of a published version; `data` is JSON text.
    ///
    /// # Errors
    /// See [`RenderFailure`].
    pub async fn render(
        &self,
        key: VersionKey,
        template: impl FnOnce() -> Template + Send,
        ctx: &CallContext,
        data: &String,
    ) -> Result<(Output, Decision), RenderFailure> {
        let start = Instant::now();
        // Never closed, so the only answer is a place.
        let _place = self.places.acquire().await;
        let mut warm = match self.idle() {
            Some(warm) => warm,
            None => Warm::new(self.generation.instance().await?),
        };
        let output = warm.render(key, template, ctx, data).await;
        // After a trap the instance is dropped with its store; after a refusal it is as good as new.
        match &output {
            Ok(_) | Err(RenderFailure::Data(_) | RenderFailure::Template(_)) => self.keep(warm),
            Err(RenderFailure::Plugin(_)) => {}
        }
        let identity = self.generation.identity();
        output.map(|output| {
            let took = start.elapsed();
            (output, Decision::new(Kind::Renderer, identity, "rendered", None, took))
        })
    }

    fn idle(&self) -> Option<Warm> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, warm: Warm) {
        if warm.renders < RECYCLED_AFTER {
            self.warm.lock().unwrap_or_else(PoisonError::into_inner).push(warm);
        }
    }
}

impl Warm {
    fn new(instance: Instance<TemplateRenderer>) -> Self {
        Self { instance, compiled: LruCache::new(TEMPLATES), weight: 0, renders: 0 }
    }

    async fn render(
        &mut self,
        key: VersionKey,
        template: impl FnOnce() -> Template + Send,
        ctx: &CallContext,
        data: &String,
    ) -> Result<Output, RenderFailure> {
        self.renders += 1;
        let compiled = match self.compiled.get(&key) {
            Some((compiled, _)) => *compiled,
            None => self.compile(key, &template()).await?,
        };
        self.instance.arm(Budget::Call);
        let (world, store) = self.instance.parts();
        let compiled_template = world.waxwing_plugin_renderer().compiled();
        let called = compiled_template.call_render(store, compiled, ctx, data).await;
        match self.instance.outcome("render", Budget::Call, called)? {
            Ok(output) => Ok(output),
            Err(Failure::InvalidInput(faults)) => Err(RenderFailure::Data(faults)),
            Err(Failure::Misconfigured(faults)) => Err(RenderFailure::Template(faults)),
            Err(Failure::Internal(detail)) => {
                Err(RenderFailure::Plugin(self.instance.gave_up("render", detail)))
            }
        }
    }

    async fn compile(
        &mut self,
        key: VersionKey,
        template: &Template,
    ) -> Result<ResourceAny, RenderFailure> {
        let compiled = match compile(&mut self.instance, template).await {
            Err(RenderFailure::Data(faults)) => return Err(RenderFailure::Template(faults)),
            other => other?,
        };
        self.instance.arm(Budget::Prepare);
        let (world, store) = self.instance.parts();
        let compiled_template = world.waxwing_plugin_renderer().compiled();
        let called = compiled_template.call_weight(store, compiled).await;
        let weight = self.instance.outcome("weight", Budget::Prepare, called)?;
        while self.weight + u64::from(weight) > WEIGHT || self.compiled.len() == TEMPLATES.get() {
            let Some((_, evicted)) = self.compiled.pop_lru() else { break };
            self.forget(evicted).await?;
        }
        self.weight += u64::from(weight);
        self.compiled.put(key, (compiled, weight));
        Ok(compiled)
    }

    /// A handle that is only dropped on this side would stay in the guest for ever.
    async fn forget(&mut self, (compiled, weight): (ResourceAny, u32)) -> Result<(), CallFailure> {
        self.weight -= u64::from(weight);
        self.instance.arm(Budget::Prepare);
        let (_, store) = self.instance.parts();
        let dropped = compiled.resource_drop_async(store).await;
        self.instance.outcome("drop of a compiled template", Budget::Prepare, dropped)
    }
}

async fn compile(
    instance: &mut Instance<TemplateRenderer>,
    template: &Template,
) -> Result<ResourceAny, RenderFailure> {
    instance.arm(Budget::Prepare);
    let (world, store) = instance.parts();
    let called = world.waxwing_plugin_renderer().compiled().call_compile(store, template).await;
    instance.outcome("compile", Budget::Prepare, called)?.map_err(RenderFailure::Data)
}

impl std::fmt::Debug for Warm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Warm").field("renders", &self.renders).finish_non_exhaustive()
    }
}
