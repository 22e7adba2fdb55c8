//! A generation: one configured component, as it was once loaded; and instances of it.

use serde_json::Value;

use super::artifact::Artifact;
use super::engine::PluginEngine;
use super::error::{CallFailure, ComponentError};
use super::identity::{Identity, SharedIdentity};
use super::instance::{Budget, Instance, arm, failure};
use super::limits::{CallLimits, Meter, Peak};
use super::log::{CallPurpose, SlotLog};
use super::meter::{CallMeter, CpuTime};
use super::sandbox::{self, Guest};
use super::schema;
use super::world::{Manifest, World};
use crate::clock::Clock;

/// The settings and limits of a generation's calls.
#[derive(Debug, Clone)]
pub struct GenerationConfig {
    /// The plugin's settings.
    pub settings: Value,
    pub settings_revision: u32,
    /// What its calls may use.
    pub limits: CallLimits,
    pub log: SlotLog,
}

/// A component with its settings, ready to be instantiated. [`Loader::load`](super::loader::Loader::load) returns it
/// fully checked; `linked` returns one without a manifest.
pub struct Generation<W: World> {
    identity: SharedIdentity,
    manifest: Manifest,
    engine: PluginEngine,
    pre: W::Pre,
    config: GenerationConfig,
    settings: String,
    clock: Clock,
    cpu: CpuTime,
    rehearsals: CpuTime,
    peak: Peak,
}

impl<W: World> Generation<W> {
    /// A generation without a manifest: until that is read, its name is the slot's.
    pub(super) fn linked(
        pre: W::Pre,
        artifact: &Artifact,
        config: GenerationConfig,
        (engine, clock): (&PluginEngine, &Clock),
    ) -> Self {
        let settings = config.settings.to_string();
        let slot = config.log.slot().to_owned();
        Self {
            identity: SharedIdentity::from(Identity {
                slot: slot.clone(),
                name: slot.clone(),
                version: String::new(),
                digest: artifact.digest().to_owned(),
                settings_revision: config.settings_revision,
            }),
            manifest: Manifest::default(),
            engine: engine.clone(),
            pre,
            config,
            settings,
            clock: clock.clone(),
            cpu: CpuTime::of_plugin(&slot, &slot, engine.ticker()),
            rehearsals: CpuTime::unseen(engine.ticker()),
            peak: Peak::default(),
        }
    }

    /// Reads the manifest from the component, and checks the settings by it.
    pub(super) async fn read_manifest(&mut self) -> Result<(), ComponentError> {
        self.manifest = self.checked_manifest().await?;
        let (name, version) = (self.manifest.name.clone(), self.manifest.version.clone());
        self.identity = Identity { name, version, ..Identity::clone(&self.identity) }.into();
        let slot = self.config.log.slot();
        self.cpu = CpuTime::of_plugin(slot, &self.manifest.name, self.engine.ticker());
        schema::check(&self.manifest, &self.config.settings)
    }

    pub fn identity(&self) -> &SharedIdentity {
        &self.identity
    }

    /// What its calls may use.
    pub fn limits(&self) -> CallLimits {
        self.config.limits
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn config(&self) -> &GenerationConfig {
        &self.config
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
        match self.configured_instance(purpose).await {
            Ok(instance) => Ok(instance),
            Err(ComponentError::Call(failure)) => Err(failure),
            Err(other) => Err(CallFailure::BrokenPromise {
                plugin: self.identity.name.clone(),
                call: "configure",
                detail: other.to_string(),
            }),
        }
    }

    pub(super) async fn configured_instance(
        &self,
        purpose: CallPurpose,
    ) -> Result<Instance<W>, ComponentError> {
        let mut instance = self.bare_instance(purpose).await?;
        instance.arm(Budget::Prepare, ("configure", purpose));
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let configured = cpu.of(world.configure(store, &self.settings)).await;
        let name = || self.identity.name.clone();
        instance
            .outcome("configure", Budget::Prepare, configured)?
            .map_err(|faults| ComponentError::Settings { name: name(), faults })?;
        Ok(instance)
    }

    async fn bare_instance(&self, purpose: CallPurpose) -> Result<Instance<W>, CallFailure> {
        let limits = self.config.limits;
        let name = self.identity.name.clone();
        let meter = Meter::new(limits.memory_bytes, self.peak.clone());
        let guest = Guest::new(name.clone(), self.config.log.clone(), meter);
        let mut store = sandbox::store(self.engine.wasmtime(), guest, limits.output_bytes);
        arm(&mut store, limits.prepare(), &self.clock, ("instantiate", purpose));
        let cpu = CallMeter { sum: self.cpu(purpose).clone(), call: store.data().time() };
        let world = match cpu.of(W::instantiate(&self.pre, &mut store)).await {
            Ok(world) => world,
            Err(error) => {
                let call = ("instantiate", Budget::Prepare);
                return Err(failure(W::KIND, &store, &name, limits, call, &error));
            }
        };
        let (clock, cpu) = (self.clock.clone(), (self.cpu.clone(), self.rehearsals.clone()));
        Ok(Instance::new(world, store, name, limits, clock, cpu))
    }

    pub(super) async fn checked_manifest(&self) -> Result<Manifest, ComponentError> {
        let manifest = self.call_describe().await?;
        manifest.check().map_err(|detail| ComponentError::Manifest { detail })?;
        Ok(manifest)
    }

    async fn call_describe(&self) -> Result<Manifest, CallFailure> {
        let mut instance = self.bare_instance(CallPurpose::Service).await?;
        instance.arm(Budget::Prepare, ("describe", CallPurpose::Service));
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let described = cpu.of(world.describe(store)).await;
        instance.outcome("describe", Budget::Prepare, described)
    }

    pub(super) async fn self_test(&self, instance: &mut Instance<W>) -> Result<(), ComponentError> {
        let mut context = super::bindings::context("self-test".to_owned(), &self.clock);
        context.dry_run = true;
        instance.arm(Budget::Prepare, ("self-test", CallPurpose::Service));
        let cpu = instance.cpu();
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
