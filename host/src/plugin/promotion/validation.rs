//! Validation: takes a component from its bytes, stage by stage, to a plugin that may go live.
//! `waxwing plugin check` takes the same stages.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use wasmtime::component::Component;

use super::error::LoadError;
use super::installed::{CallStats, Installed, InstalledPlugin};
use super::stateless::NamedCall;
use super::{builtin, builtin_cases, golden_cases, stateless};
use crate::clock::Clock;
use crate::plugin::config::slot::{BadSlotConfig, OnFailure, SlotConfig, SlotName};
use crate::plugin::kinds::domain::DomainPolicy;
use crate::plugin::kinds::mjml::MjmlCompiler;
use crate::plugin::kinds::plan::PlanPolicy;
use crate::plugin::kinds::renderer::Renderer;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::bindings::domain::DomainVerification;
use crate::plugin::runtime::bindings::mjml::MjmlCompilation;
use crate::plugin::runtime::bindings::plan::PlanRestriction;
use crate::plugin::runtime::bindings::template::TemplateRenderer;
use crate::plugin::runtime::cache::CompiledCache;
use crate::plugin::runtime::compiler::Compiler;
use crate::plugin::runtime::engine::PluginEngine;
use crate::plugin::runtime::error::ComponentError;
use crate::plugin::runtime::generation::GenerationConfig;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::runtime::loader::Loader;
use crate::plugin::runtime::log::{Audience, SlotLog};
use crate::plugin::runtime::pool::Instances;
use crate::plugin::runtime::signature::{PublicKey, SignatureRule, verify};
use crate::plugin::runtime::stage::{Progress, Stage};
use crate::plugin::runtime::world::Manifest;

/// What is validated: a component with its slot's configuration.
#[derive(Debug, Clone)]
pub struct ValidationInput {
    pub slot: SlotName,
    /// The component; none for the one that is built in.
    pub component: Option<Artifact>,
    pub signature: Option<String>,
    /// The slot's file.
    pub config: Arc<SlotConfig>,
    pub settings_revision: u32,
}

/// Validates components: the engine, the limits and the trusted keys.
#[derive(Debug, Clone)]
pub struct Validator {
    loader: Loader,
    limits: Limits,
    rule: SignatureRule,
    trusted: Vec<PublicKey>,
    clock: Clock,
    audience: Audience,
}

impl Validator {
    /// A server's validator. Logs of what is validated outside a slot go to `audience`.
    #[must_use]
    pub fn new(
        loader: Loader,
        limits: Limits,
        rule: SignatureRule,
        trusted: Vec<PublicKey>,
        (clock, audience): (Clock, Audience),
    ) -> Self {
        Self { loader, limits, rule, trusted, clock, audience }
    }

    /// A validator for the command line without a server. Compiled code is kept in a directory, under a
    /// secret, or not at all.
    pub fn for_tools(
        limits: Limits,
        (rule, trusted): (SignatureRule, Vec<PublicKey>),
        (kept, compiler): (Option<(&Path, &[u8])>, Compiler),
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let none = CompiledCache::none;
        let cache = kept.map_or_else(none, |(path, secret)| CompiledCache::open(path, secret));
        let loader = Loader::new(
            PluginEngine::start().map_err(ComponentError::Engine)?,
            (cache, compiler),
            clock.clone(),
        )?;
        Ok(Self::new(loader, limits, rule, trusted, (clock, Audience::Terminal)))
    }

    /// Validates a candidate with these settings instead of its slot's, without golden cases.
    pub async fn validate_with(
        &self,
        candidate: &ValidationInput,
        settings: Value,
    ) -> Result<InstalledPlugin, LoadError> {
        let (artifact, kind, component) = self.compiled(candidate, UNOBSERVED).await?;
        let log = self.log(&candidate.slot);
        self.make(candidate, kind, &artifact, &component, settings, log, UNOBSERVED).await
    }

    /// What a component says of itself, whatever its settings.
    ///
    /// # Errors
    /// It cannot be loaded, or it does not say.
    pub async fn describe(&self, candidate: &ValidationInput) -> Result<Manifest, LoadError> {
        let (artifact, kind, component) = self.compiled(candidate, UNOBSERVED).await?;
        let recipe =
            self.recipe(candidate, kind, &artifact, Value::Null, self.log(&candidate.slot));
        let (loader, it) = (&self.loader, &artifact);
        let described = match kind {
            Kind::Renderer => loader.describe::<TemplateRenderer>(it, &component, recipe).await,
            Kind::Domain => loader.describe::<DomainVerification>(it, &component, recipe).await,
            Kind::Plan => loader.describe::<PlanRestriction>(it, &component, recipe).await,
            Kind::Mjml => loader.describe::<MjmlCompilation>(it, &component, recipe).await,
        };
        Ok(described?)
    }

    /// Ends what is being compiled, and compiles nothing more.
    pub fn stop_compiling(&self) {
        self.loader.stop_compiling();
    }

    /// Whether the machine code of a component is kept from before.
    #[must_use]
    pub fn is_compiled(&self, artifact: &Artifact) -> bool {
        self.loader.is_compiled(artifact)
    }

    /// Takes a candidate through every stage up to TESTED; `cases` are the operator's golden cases.
    pub async fn validate(
        &self,
        candidate: &ValidationInput,
        log: SlotLog,
        cases: Option<&Path>,
        progress: Progress<'_>,
    ) -> Result<InstalledPlugin, LoadError> {
        self.check_signature(candidate)?;
        Box::pin(self.validated(candidate, log, cases, progress)).await
    }

    /// Validates again what was live once, for a replay; its signature was checked then.
    pub async fn revalidate(
        &self,
        candidate: &ValidationInput,
        log: SlotLog,
    ) -> Result<InstalledPlugin, LoadError> {
        Box::pin(self.validated(candidate, log, None, UNOBSERVED)).await
    }

    async fn validated(
        &self,
        candidate: &ValidationInput,
        log: SlotLog,
        cases: Option<&Path>,
        progress: Progress<'_>,
    ) -> Result<InstalledPlugin, LoadError> {
        let (artifact, kind, component) = self.compiled(candidate, progress).await?;
        let wanted = candidate.config.kind.or_else(|| candidate.slot.builtin_kind());
        if let Some(wanted) = wanted
            && wanted != kind
        {
            return Err(LoadError::WrongKind { wanted, found: kind });
        }
        if kind != Kind::Plan && candidate.config.on_failure == OnFailure::Builtin {
            return Err(LoadError::Config(BadSlotConfig {
                slot: candidate.slot.clone(),
                message: "on_failure = \"builtin\" is for plan policies only".to_owned(),
            }));
        }
        let settings = candidate.config.settings();
        let make = |settings: Value| {
            let (artifact, component, log) = (artifact.clone(), component.clone(), log.clone());
            async move {
                self.make(candidate, kind, &artifact, &component, settings, log, progress).await
            }
        };
        let validated = make(settings).await?;
        builtin_cases::check(&validated).await?;
        let mut calls = Vec::new();
        if let Some(directory) = cases {
            let directory = directory.to_owned();
            let read =
                tokio::task::spawn_blocking(move || golden_cases::read(kind, &directory)).await;
            for case in read?? {
                // A case with settings of its own is asked of a generation with those.
                match case.call.settings.clone() {
                    Some(settings) => golden_cases::check(&make(settings).await?, &case).await?,
                    None => golden_cases::check(&validated, &case).await?,
                }
                calls.push((format!("the case `{}`", case.name), case.call));
            }
        }
        if kind != Kind::Renderer && candidate.instances(kind, &artifact) == Instances::Stateless {
            let builtin = builtin_cases::calls(kind).into_iter();
            calls.extend(builtin.map(|(name, call)| (name.to_owned(), call)));
            self.check_stateless(candidate, kind, &artifact, &component, calls).await?;
        }
        Ok(validated)
    }

    /// Compares fresh and reused instances, without logging; the instances are dropped afterwards.
    async fn check_stateless(
        &self,
        candidate: &ValidationInput,
        kind: Kind,
        artifact: &Artifact,
        component: &Component,
        calls: Vec<NamedCall>,
    ) -> Result<(), LoadError> {
        let make = |instances| {
            let candidate = candidate.with_instances(instances);
            let settings = candidate.config.settings();
            let slot = candidate.slot.as_str();
            let log = SlotLog::new(slot, self.clock.clone(), Audience::Nobody);
            async move {
                self.make(&candidate, kind, artifact, component, settings, log, UNOBSERVED).await
            }
        };
        let (fresh, kept) = (make(Instances::Fresh).await?, make(Instances::Stateless).await?);
        stateless::check(&fresh, &kept, calls).await
    }

    /// A log for validation outside a slot.
    #[must_use]
    pub fn log(&self, slot: &SlotName) -> SlotLog {
        SlotLog::new(slot.as_str(), self.clock.clone(), self.audience)
    }

    fn check_signature(&self, candidate: &ValidationInput) -> Result<(), LoadError> {
        let Some(artifact) = &candidate.component else { return Ok(()) };
        match (self.rule, verify(artifact, candidate.signature.as_deref(), &self.trusted)) {
            (SignatureRule::Off, _) | (_, Ok(())) => Ok(()),
            (SignatureRule::Warn, Err(error)) => {
                tracing::warn!(slot = %candidate.slot, %error, "plugin signature missing or invalid; accepted because plugins.signatures is `warn`");
                Ok(())
            }
            (SignatureRule::Require, Err(error)) => Err(error.into()),
        }
    }

    async fn compiled(
        &self,
        candidate: &ValidationInput,
        progress: Progress<'_>,
    ) -> Result<(Artifact, Kind, Component), LoadError> {
        let artifact = match &candidate.component {
            Some(artifact) => artifact.clone(),
            None => {
                builtin::artifact(candidate.config.kind.or_else(|| candidate.slot.builtin_kind()))
                    .ok_or_else(|| LoadError::NoKind { slot: candidate.slot.clone() })?
            }
        };
        let (kind, component) = self.loader.compile(&artifact, progress).await?;
        Ok((artifact, kind, component))
    }

    #[expect(clippy::too_many_arguments, reason = "all that a generation is made of")]
    async fn make(
        &self,
        candidate: &ValidationInput,
        kind: Kind,
        artifact: &Artifact,
        component: &Component,
        settings: Value,
        log: SlotLog,
        progress: Progress<'_>,
    ) -> Result<InstalledPlugin, LoadError> {
        let recipe = self.recipe(candidate, kind, artifact, settings, log);
        let instances = candidate.instances(kind, artifact);
        let loader = &self.loader;
        Ok(match kind {
            Kind::Renderer => {
                let it = loader.load::<TemplateRenderer>(artifact, component, recipe, progress);
                InstalledPlugin::Renderer(installed(
                    candidate,
                    artifact,
                    kind,
                    Renderer::new(it.await?),
                ))
            }
            Kind::Domain => {
                let it = loader.load::<DomainVerification>(artifact, component, recipe, progress);
                let policy = DomainPolicy::new(it.await?, instances);
                InstalledPlugin::Domain(installed(candidate, artifact, kind, policy))
            }
            Kind::Plan => {
                let it = loader.load::<PlanRestriction>(artifact, component, recipe, progress);
                let policy = PlanPolicy::new(it.await?, instances);
                InstalledPlugin::Plan(installed(candidate, artifact, kind, policy))
            }
            Kind::Mjml => {
                let it = loader.load::<MjmlCompilation>(artifact, component, recipe, progress);
                let policy = MjmlCompiler::new(it.await?, instances);
                InstalledPlugin::Mjml(installed(candidate, artifact, kind, policy))
            }
        })
    }
}

impl Validator {
    fn recipe(
        &self,
        candidate: &ValidationInput,
        kind: Kind,
        artifact: &Artifact,
        settings: Value,
        log: SlotLog,
    ) -> GenerationConfig {
        let mut limits = self.limits.of(kind);
        // An interpreter starts from more memory.
        if artifact.embeds_an_interpreter() {
            limits = limits.for_an_interpreter(kind);
        }
        GenerationConfig {
            settings,
            settings_revision: candidate.settings_revision,
            limits: candidate.config.limits(limits),
            log,
        }
    }
}

impl ValidationInput {
    /// The built-in plugin of a kind, with no settings.
    #[must_use]
    pub fn builtin(kind: Kind) -> Self {
        Self {
            slot: kind.builtin_slot(),
            component: None,
            signature: None,
            config: Arc::default(),
            settings_revision: 0,
        }
    }

    /// The same with other instances than its slot's file says.
    #[must_use]
    pub fn with_instances(&self, instances: Instances) -> Self {
        let mut candidate = self.clone();
        Arc::make_mut(&mut candidate.config).instances = Some(instances);
        candidate
    }

    /// How its instances are used.
    #[must_use]
    pub fn instances(&self, kind: Kind, artifact: &Artifact) -> Instances {
        self.config.instances.unwrap_or_else(|| Instances::usual(kind, artifact))
    }
}

/// Progress that nobody follows and nothing ends.
pub const UNOBSERVED: Progress<'static> = &|_: Stage| true;

fn installed<P>(
    candidate: &ValidationInput,
    artifact: &Artifact,
    kind: Kind,
    plugin: P,
) -> Arc<Installed<P>> {
    Arc::new(Installed {
        slot: candidate.slot.clone(),
        config: Arc::clone(&candidate.config),
        artifact: artifact.clone(),
        plugin,
        stats: CallStats::new(&candidate.slot, kind),
    })
}
