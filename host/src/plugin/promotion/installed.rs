//! A validated generation in its slot, with counts of its calls and failures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use metrics::Counter;
use serde_json::Value;

use crate::fair_share::ShareOwner;
use crate::plugin::config::slot::{SlotConfig, SlotName};
use crate::plugin::kinds::domain::DomainPolicy;
use crate::plugin::kinds::mjml::MjmlCompiler;
use crate::plugin::kinds::plan::PlanPolicy;
use crate::plugin::kinds::renderer::Renderer;
use crate::plugin::records::{Call, Input, answer};
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::bindings::types::CallContext;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::generation::GenerationConfig;
use crate::plugin::runtime::identity::Identity;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::CallPurpose;
use crate::plugin::runtime::world::Manifest;

/// Inputs in quarantine, at most; the next one is let through.
const MAX_QUARANTINED_INPUTS: usize = 1_000;

/// A validated generation and the slot it is installed in.
#[derive(Debug)]
pub struct Installed<P> {
    pub slot: SlotName,
    pub config: Arc<SlotConfig>,
    pub artifact: Artifact,
    /// The typed calls of its kind: a policy, a renderer, a compiler.
    pub plugin: P,
    pub stats: CallStats,
}

/// An installed plugin of any kind. Cheap to clone.
#[derive(Debug, Clone)]
pub enum InstalledPlugin {
    Renderer(Arc<Installed<Renderer>>),
    Domain(Arc<Installed<DomainPolicy>>),
    Plan(Arc<Installed<PlanPolicy>>),
    Mjml(Arc<Installed<MjmlCompiler>>),
}

/// Counts of a generation's calls and failures.
pub struct CallStats {
    calls: AtomicU64,
    failed: AtomicU64,
    gave_up: AtomicU64,
    answered_total: Counter,
    trapped_total: Counter,
    gave_up_total: Counter,
    any_input_in_quarantine: AtomicBool,
    quarantined_inputs: RwLock<HashMap<u64, String>>,
}

impl CallStats {
    /// The counts of a generation that was not called yet.
    #[must_use]
    pub fn new(slot: &SlotName, kind: Kind) -> Self {
        let count = |outcome| {
            metrics::counter!(
                "waxwing_plugin_calls_total",
                "slot" => slot.to_string(), "kind" => kind.as_str(), "outcome" => outcome
            )
        };
        Self {
            calls: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            gave_up: AtomicU64::new(0),
            answered_total: count("answered"),
            trapped_total: count("trapped"),
            gave_up_total: count("gave_up"),
            any_input_in_quarantine: AtomicBool::new(false),
            quarantined_inputs: RwLock::new(HashMap::new()),
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Calls that failed, other than by giving up.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Calls that ended by giving up: the plugin itself reported that it cannot answer.
    pub fn gave_up(&self) -> u64 {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Counts a call; returns how many were before it.
    pub(in crate::plugin) fn begin_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(in crate::plugin) fn ended(&self, failure: Option<&CallFailure>) {
        let (count, counter) = match failure {
            None => return self.answered_total.increment(1),
            Some(CallFailure::GaveUp { .. }) => (&self.gave_up, &self.gave_up_total),
            Some(_) => (&self.failed, &self.trapped_total),
        };
        count.fetch_add(1, Ordering::Relaxed);
        counter.increment(1);
    }

    /// How the plugin failed on an input, if that input is in quarantine.
    pub(in crate::plugin) fn quarantined(&self, input: u64) -> Option<String> {
        if !self.any_input_in_quarantine.load(Ordering::Relaxed) {
            return None;
        }
        self.quarantined_inputs.read().unwrap_or_else(PoisonError::into_inner).get(&input).cloned()
    }

    /// Keeps an input from this generation from now on.
    pub(in crate::plugin) fn quarantine(&self, input: u64, failure: &CallFailure) {
        let mut inputs = self.quarantined_inputs.write().unwrap_or_else(PoisonError::into_inner);
        if inputs.len() < MAX_QUARANTINED_INPUTS {
            inputs.insert(input, failure.to_string());
            self.any_input_in_quarantine.store(true, Ordering::Relaxed);
        }
    }

    pub fn inputs_in_quarantine(&self) -> usize {
        self.quarantined_inputs.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What all kinds of [`Installed`] have in common.
macro_rules! each {
    ($validated:expr, $installed:ident => $what:expr) => {
        match $validated {
            InstalledPlugin::Renderer($installed) => $what,
            InstalledPlugin::Domain($installed) => $what,
            InstalledPlugin::Plan($installed) => $what,
            InstalledPlugin::Mjml($installed) => $what,
        }
    };
}

impl InstalledPlugin {
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Renderer(_) => Kind::Renderer,
            Self::Domain(_) => Kind::Domain,
            Self::Plan(_) => Kind::Plan,
            Self::Mjml(_) => Kind::Mjml,
        }
    }

    #[must_use]
    pub fn slot(&self) -> &SlotName {
        each!(self, installed => &installed.slot)
    }

    #[must_use]
    pub fn config(&self) -> &Arc<SlotConfig> {
        each!(self, installed => &installed.config)
    }

    #[must_use]
    pub fn artifact(&self) -> &Artifact {
        each!(self, installed => &installed.artifact)
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        each!(self, installed => installed.plugin.generation().identity())
    }

    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        each!(self, installed => installed.plugin.generation().manifest())
    }

    /// The settings and limits of its calls.
    #[must_use]
    pub fn generation_config(&self) -> &GenerationConfig {
        each!(self, installed => installed.plugin.generation().config())
    }

    /// The CPU time of the generation's calls with that purpose.
    #[must_use]
    pub fn cpu(&self, purpose: CallPurpose) -> std::time::Duration {
        each!(self, installed => installed.plugin.generation().cpu(purpose).total())
    }

    #[must_use]
    pub fn stats(&self) -> &CallStats {
        each!(self, installed => &installed.stats)
    }

    /// Repeats a recorded call with `dry_run` set; the result is only compared. Returns the answer as JSON, and the
    /// failure if there was no answer. A call of another kind is a failure too.
    pub async fn dry_run(&self, call: &Call) -> (Value, Option<CallFailure>) {
        let mut context = call.context.clone();
        context.dry_run = true;
        self.answer(context, call).await
    }

    /// Repeats a recorded call unchanged, for a plugin that is not live: so that a plugin that fails only in calls for
    /// messages fails here too.
    pub async fn replay(&self, call: &Call) -> (Value, Option<CallFailure>) {
        self.answer(call.context.clone(), call).await
    }

    async fn answer(&self, context: CallContext, call: &Call) -> (Value, Option<CallFailure>) {
        let answered = match (self, &call.input) {
            (Self::Plan(it), Input::Plan { who, uses }) => {
                it.plugin.check(&context, who, uses).await.map(|it| answer::decisions(&it))
            }
            (Self::Renderer(it), Input::Render { template, data }) => {
                let template = || template.clone();
                let rendered =
                    it.plugin.render(ShareOwner::Operator, None, template, &context, data).await;
                rendered.map(|it| answer::output(&it))
            }
            (Self::Domain(it), Input::Require { domain }) => {
                it.plugin.require(&context, domain).await.map(|it| answer::requirements(&it))
            }
            (Self::Domain(it), Input::Judge { domain, seen }) => {
                it.plugin.judge(&context, domain, seen).await.map(|it| answer::verdict(&it))
            }
            (Self::Mjml(it), Input::Mjml { document }) => {
                it.plugin.compile(&context, document).await.map(|it| answer::compiled(&it))
            }
            (Self::Plan(_) | Self::Renderer(_) | Self::Domain(_) | Self::Mjml(_), _) => {
                Err(CallFailure::BrokenPromise {
                    plugin: self.identity().name.clone(),
                    call: "answer",
                    detail: format!("a {} cannot answer a call for a {}", self.kind(), call.kind()),
                })
            }
        };
        match answered {
            Ok(answer) => (answer, None),
            Err(failure) => (answer::failed(&failure.to_string()), Some(failure)),
        }
    }
}

impl std::fmt::Debug for CallStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallStats")
            .field("calls", &self.calls())
            .field("failed", &self.failed())
            .finish_non_exhaustive()
    }
}
