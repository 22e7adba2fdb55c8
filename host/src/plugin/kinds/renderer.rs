//! The template renderer: warm instances, each with its compiled templates.

mod blame;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;
use wasmtime::component::ResourceAny;

use blame::RenderHistory;
pub use blame::{Blame, VersionKey};

use crate::fair_share::{FairShare, ShareOwner};
use crate::plugin::runtime::bindings::template::TemplateRenderer;
use crate::plugin::runtime::bindings::template::exports::waxwing::plugin::renderer as wit;
use crate::plugin::runtime::bindings::types::{CallContext, Diagnostic, Failure};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::generation::Generation;
use crate::plugin::runtime::instance::{Budget, Instance};
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::CallPurpose;

pub use wit::{Body, Output, Part, Source, Template, Variable};

/// Renders of one instance before it makes room for a fresh one, which has to compile every template again.
const RECYCLED_AFTER: u32 = 20_000;
/// What the compiled templates of one instance may weigh together, of its memory: the rest is for the calls.
const WEIGHT_EIGHTHS: u64 = 3;

/// A generation of a renderer, with its warm instances.
#[derive(Debug)]
pub struct Renderer {
    generation: Generation<TemplateRenderer>,
    /// Calls at one time, shared by accounts: the slow templates of one leave places to the others.
    places: Arc<FairShare>,
    max_warm: usize,
    max_weight: u64,
    warm: Mutex<Vec<Warm>>,
    history: RenderHistory,
}

struct Warm {
    instance: Instance<TemplateRenderer>,
    compiled: LruCache<VersionKey, Kept>,
    weight: u64,
    max_weight: u64,
    renders: u32,
}

/// A compiled template in an instance.
struct Kept {
    compiled: ResourceAny,
    weight: u32,
    /// Whether this instance has rendered it already.
    rendered: bool,
}

impl Renderer {
    pub(in crate::plugin) const KIND: Kind = Kind::Renderer;

    pub(in crate::plugin) fn new(generation: Generation<TemplateRenderer>) -> Self {
        let max_warm = std::thread::available_parallelism().map_or(2, NonZeroUsize::get) * 2;
        let memory = u64::try_from(generation.limits().memory_bytes).unwrap_or(u64::MAX);
        Self {
            generation,
            places: FairShare::new(max_warm),
            max_warm,
            max_weight: memory / 8 * WEIGHT_EIGHTHS,
            warm: Mutex::new(Vec::new()),
            history: RenderHistory::default(),
        }
    }

    pub(in crate::plugin) fn generation(&self) -> &Generation<TemplateRenderer> {
        &self.generation
    }

    /// Compiles a template that is not published yet and says what it reads, or all its faults.
    pub(in crate::plugin) async fn variables(
        &self,
        owner: ShareOwner,
        template: &Template,
    ) -> Result<Result<Vec<Variable>, Vec<Diagnostic>>, CallFailure> {
        let _place = self.places.wait(owner, 1).await;
        let call = ("publish", CallPurpose::Service);
        let mut instance = self.generation.instance(call.1).await?;
        let compiled = match compile(&mut instance, template, call).await? {
            Ok(compiled) => compiled,
            Err(faults) => return Ok(Err(faults)),
        };
        instance.arm(Budget::Prepare, call);
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let call = world.waxwing_plugin_renderer().compiled();
        let called = cpu.of(call.call_variables(store, compiled)).await;
        instance.outcome("variables", Budget::Prepare, called).map(Ok)
    }

    /// Renders every part of a template; `data` is JSON text. With a key the compiled form is kept.
    /// Faults of the template itself are `misconfigured`.
    pub(in crate::plugin) async fn render(
        &self,
        owner: ShareOwner,
        key: Option<VersionKey>,
        template: impl Fn() -> Template + Send + Sync,
        ctx: &CallContext,
        data: &String,
    ) -> Result<Result<Output, Failure>, CallFailure> {
        let _place = self.places.wait(owner, 1).await;
        let idle = self.idle(key);
        let was_used = idle.is_some();
        let mut warm = match idle {
            Some(warm) => warm,
            None => self.fresh(ctx).await?,
        };
        // After a trap the instance is dropped with its store; after a refusal it is as good as new.
        let mut answer = warm.render(key, &template, ctx, data, &self.history).await;
        if was_used && matches!(answer, Err(CallFailure::Memory { .. })) {
            // What other calls left in the instance may be what filled it.
            let plugin = &self.generation.identity().name;
            tracing::info!(
                plugin,
                "warm renderer instance ran out of memory; retrying the call in a new one"
            );
            warm = self.fresh(ctx).await?;
            answer = warm.render(key, &template, ctx, data, &self.history).await;
        }
        let answer = answer?;
        self.keep(warm);
        Ok(answer)
    }

    /// Who is to blame that a version came to a limit, or trapped, with this data. Where that is not
    /// known the version's example is rendered.
    pub(in crate::plugin) async fn blame(
        &self,
        owner: ShareOwner,
        key: VersionKey,
        template: impl Fn() -> Template + Send + Sync,
        ctx: &CallContext,
        data: &str,
        example: &String,
    ) -> Blame {
        if let Some(blame) = self.history.blame(key) {
            return blame;
        }
        let ctx = CallContext { dry_run: true, ..ctx.clone() };
        match self.render(owner, Some(key), template, &ctx, example).await {
            Ok(Ok(_)) => Blame::Data,
            Ok(Err(Failure::Misconfigured(_))) | Err(_) => self.history.record_example_failure(key),
            Ok(Err(Failure::InvalidInput(_) | Failure::Internal(_))) => {
                self.history.record_failure(key, hash(data))
            }
        }
    }

    /// A version that is to blame came to this limit in a call for a message.
    pub(in crate::plugin) fn refuse(&self, key: VersionKey, failure: &CallFailure) {
        self.history.refuse(key, failure, Instant::now());
    }

    /// The limit that a version comes to whatever the data, where it is not to be called now.
    pub(in crate::plugin) fn refused(&self, key: VersionKey) -> Option<CallFailure> {
        self.history.refused(key, Instant::now())
    }

    async fn fresh(&self, ctx: &CallContext) -> Result<Warm, CallFailure> {
        let instance = self.generation.instance(CallPurpose::of(ctx)).await?;
        Ok(Warm::new(instance, self.max_weight))
    }

    /// An instance that has the version compiled, or has room for it. None where another instance is worth its memory:
    /// all are full, so that each version that one of them compiles takes the place of another.
    fn idle(&self, key: Option<VersionKey>) -> Option<Warm> {
        let mut all = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |warm: &Warm| key.is_none_or(|key| warm.compiled.contains(&key));
        let at = all.iter().rposition(has).or_else(|| all.iter().rposition(|warm| !warm.is_full()));
        match at {
            Some(at) => Some(all.remove(at)),
            None if all.len() < self.max_warm => None,
            None => all.pop(),
        }
    }

    fn keep(&self, warm: Warm) {
        let mut all = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        if warm.renders < RECYCLED_AFTER && all.len() < self.max_warm {
            all.push(warm);
        }
    }
}

impl Warm {
    fn new(instance: Instance<TemplateRenderer>, max_weight: u64) -> Self {
        Self { instance, compiled: LruCache::unbounded(), weight: 0, max_weight, renders: 0 }
    }

    fn is_full(&self) -> bool {
        self.weight >= self.max_weight / 10 * 9
    }

    async fn render(
        &mut self,
        key: Option<VersionKey>,
        template: &(impl Fn() -> Template + Sync),
        ctx: &CallContext,
        data: &String,
        history: &RenderHistory,
    ) -> Result<Result<Output, Failure>, CallFailure> {
        self.renders += 1;
        let kept = key.and_then(|key| self.compiled.get(&key)).map(|kept| kept.compiled);
        let compiled = match kept {
            Some(compiled) => compiled,
            None => {
                match compile(&mut self.instance, &template(), (&ctx.call_id, CallPurpose::of(ctx)))
                    .await?
                {
                    Ok(compiled) => compiled,
                    Err(faults) => return Ok(Err(Failure::Misconfigured(faults))),
                }
            }
        };
        if let (None, Some(key)) = (kept, key) {
            self.remember(key, compiled).await?;
        }
        self.instance.arm_for(ctx);
        let cpu = self.instance.cpu();
        let (world, store) = self.instance.parts();
        let template = world.waxwing_plugin_renderer().compiled();
        let called = cpu.of(template.call_render(store, compiled, ctx, data)).await;
        let answer = self.instance.outcome("render", Budget::Call, called)?;
        match key {
            None => self.drop_in_guest(compiled).await?,
            Some(key) if answer.is_ok() => self.rendered(key, history),
            Some(_) => {}
        }
        Ok(answer)
    }

    fn rendered(&mut self, key: VersionKey, history: &RenderHistory) {
        let is_news = |kept: &&mut Kept| !kept.rendered || history.refuses_any();
        if let Some(kept) = self.compiled.peek_mut(&key).filter(is_news) {
            kept.rendered = true;
            history.record_success(key);
        }
    }

    async fn remember(
        &mut self,
        key: VersionKey,
        compiled: ResourceAny,
    ) -> Result<(), CallFailure> {
        self.instance.arm(Budget::Prepare, ("weight", CallPurpose::Service));
        let cpu = self.instance.cpu();
        let (world, store) = self.instance.parts();
        let template = world.waxwing_plugin_renderer().compiled();
        let called = cpu.of(template.call_weight(store, compiled)).await;
        let weight = self.instance.outcome("weight", Budget::Prepare, called)?;
        while self.weight + u64::from(weight) > self.max_weight {
            let Some((_, evicted)) = self.compiled.pop_lru() else { break };
            self.weight -= u64::from(evicted.weight);
            self.drop_in_guest(evicted.compiled).await?;
        }
        self.weight += u64::from(weight);
        self.compiled.put(key, Kept { compiled, weight, rendered: false });
        Ok(())
    }

    /// A handle that is only dropped on this side would stay in the guest for ever.
    async fn drop_in_guest(&mut self, compiled: ResourceAny) -> Result<(), CallFailure> {
        self.instance.arm(Budget::Prepare, ("drop", CallPurpose::Service));
        let cpu = self.instance.cpu();
        let (_, store) = self.instance.parts();
        let dropped = cpu.of(compiled.resource_drop_async(store)).await;
        self.instance.outcome("drop of a compiled template", Budget::Prepare, dropped)
    }
}

async fn compile(
    instance: &mut Instance<TemplateRenderer>,
    template: &Template,
    call: (&str, CallPurpose),
) -> Result<Result<ResourceAny, Vec<Diagnostic>>, CallFailure> {
    instance.arm(Budget::Prepare, call);
    let cpu = instance.cpu();
    let (world, store) = instance.parts();
    let renderer = world.waxwing_plugin_renderer().compiled();
    let called = cpu.of(renderer.call_compile(store, template)).await;
    instance.outcome("compile", Budget::Prepare, called)
}

fn hash(data: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

impl std::fmt::Debug for Warm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Warm").field("renders", &self.renders).finish_non_exhaustive()
    }
}
