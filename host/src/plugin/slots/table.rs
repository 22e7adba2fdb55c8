//! Which plugin answers which call at one moment. A message holds one table from start to end, so
//! a swap in the middle of it changes nothing for it.

mod covering;
mod failure_report;
mod observed_call;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::plugin::config::binding::Scope;
use crate::plugin::config::slot::OnFailure;
use crate::plugin::kinds::domain::{self, DomainPolicy};
use crate::plugin::kinds::mjml::{self, MjmlCompiler};
use crate::plugin::kinds::plan::{self, PlanPolicy};
use crate::plugin::kinds::renderer::{self, Blame, Renderer};
use crate::plugin::promotion::installed::{Installed, InstalledPlugin};
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::records::decision::Decision;
use crate::plugin::records::{Call, Input, answer};
use crate::plugin::runtime::bindings::types::{CallContext, Diagnostic, Failure};
use crate::plugin::runtime::error::{CallFailure, list};
use crate::plugin::runtime::identity::Identity;
use crate::plugin::runtime::kind::Kind;
use failure_report::gave_up;
use observed_call::{CallResult, ObservedCall};

pub use failure_report::{FailureReport, TrapSink, Version};

/// Variables of one render that are recorded as blank, and the bytes of a path.
const MAX_BLANK_VARIABLES: usize = 50;
const MAX_PATH_BYTES: usize = 200;

/// The plugins that are live, narrowest binding first; the last one of a kind covers every call.
#[derive(Debug)]
pub struct Table {
    renderers: Vec<Arc<Installed<Renderer>>>,
    domains: Vec<Arc<Installed<DomainPolicy>>>,
    plans: Vec<Arc<Installed<PlanPolicy>>>,
    mjml_compilers: Vec<Arc<Installed<MjmlCompiler>>>,
    shadows: Vec<Arc<Shadow>>,
    trap_sink: TrapSink,
}

/// An answer of a plugin, and the record of it.
#[derive(Debug)]
pub struct Called<T> {
    /// What it said.
    pub result: Result<T, CallFailure>,
    pub decision: Decision,
    /// The record of the plugin that failed before, where the built-in one answered in its place.
    pub failed: Option<Decision>,
}

/// Why a template was not rendered, by fault of the sender's data or of the template itself.
#[derive(Debug)]
pub enum Unrendered {
    /// The sender's data is wrong.
    Data(Vec<Diagnostic>),
    /// The published template is wrong.
    Template(Vec<Diagnostic>),
    /// It came to a limit of time, memory or output.
    TooMuchWork(Blame, CallFailure),
}

impl Table {
    /// A table of everything that is live; `builtins` come last and cover what nobody else does.
    #[must_use]
    pub fn new(live: Vec<InstalledPlugin>, shadows: Vec<Arc<Shadow>>, trap_sink: TrapSink) -> Self {
        let mut table = Self {
            renderers: Vec::new(),
            domains: Vec::new(),
            plans: Vec::new(),
            mjml_compilers: Vec::new(),
            shadows,
            trap_sink,
        };
        for validated in live {
            match validated {
                InstalledPlugin::Renderer(it) => table.renderers.push(it),
                InstalledPlugin::Domain(it) => table.domains.push(it),
                InstalledPlugin::Plan(it) => table.plans.push(it),
                InstalledPlugin::Mjml(it) => table.mjml_compilers.push(it),
            }
        }
        // Stable: of two for the whole server, the one that came first stays before the built-in.
        narrowest_first(&mut table.renderers);
        narrowest_first(&mut table.domains);
        narrowest_first(&mut table.plans);
        narrowest_first(&mut table.mjml_compilers);
        table
    }

    /// What answers calls of a kind and scope.
    #[must_use]
    pub fn serving(&self, kind: Kind, scope: &Scope<'_>) -> InstalledPlugin {
        match kind {
            Kind::Renderer => InstalledPlugin::Renderer(Arc::clone(choose(&self.renderers, scope))),
            Kind::Domain => InstalledPlugin::Domain(Arc::clone(choose(&self.domains, scope))),
            Kind::Plan => InstalledPlugin::Plan(Arc::clone(choose(&self.plans, scope))),
            Kind::Mjml => InstalledPlugin::Mjml(Arc::clone(choose(&self.mjml_compilers, scope))),
        }
    }

    /// One verdict for each use, in order.
    pub async fn check(
        &self,
        scope: &Scope<'_>,
        ctx: &CallContext,
        who: &plan::Account,
        uses: &[plan::UseRequest],
    ) -> Called<Vec<plan::Verdict>> {
        let installed = choose(&self.plans, scope);
        let called = self.check_by(installed, scope, ctx, who, uses).await;
        if called.result.is_ok() || installed.config.on_failure == OnFailure::Closed {
            return called;
        }
        match self.plans.last() {
            Some(builtin) if !Arc::ptr_eq(builtin, installed) => {
                let (slot, reason) = (&installed.slot, &called.decision.reason);
                tracing::warn!(%slot, ?reason, "plan policy failed; falling back to the built-in policy");
                let instead = self.check_by(builtin, scope, ctx, who, uses).await;
                Called { failed: Some(called.decision), ..instead }
            }
            Some(_) | None => called,
        }
    }

    /// The plan policy's verdicts on hypothetical uses. They are not sampled, and a trap rolls nothing back.
    ///
    /// # Errors
    /// The plugin gave no answer.
    pub async fn would_allow(
        &self,
        scope: &Scope<'_>,
        ctx: &CallContext,
        who: &plan::Account,
        uses: &[plan::UseRequest],
    ) -> Result<Vec<plan::Verdict>, CallFailure> {
        let policy = &choose(&self.plans, scope).plugin;
        let said = policy.check(ctx, who, uses).await?;
        said.map_err(|failure| gave_up(policy.generation().identity(), "check", &failure))
    }

    async fn check_by(
        &self,
        installed: &Arc<Installed<PlanPolicy>>,
        scope: &Scope<'_>,
        ctx: &CallContext,
        who: &plan::Account,
        uses: &[plan::UseRequest],
    ) -> Called<Vec<plan::Verdict>> {
        let subject: Vec<_> =
            uses.iter().map(|it| (&it.template_slug, &it.recipient_domain)).collect();
        let observed = ObservedCall {
            shadows: &self.shadows,
            trap_sink: &self.trap_sink,
            plugin: || InstalledPlugin::Plan(Arc::clone(installed)),
            stats: &installed.stats,
            scope,
            input: hash((&who.id, &subject)),
            name: "the send",
            call: "check",
            binding: &installed.config.binding,
            version: &|| None,
            record: || {
                let input = Input::Plan { who: who.clone(), uses: uses.to_vec() };
                Call { context: ctx.clone(), settings: None, input }
            },
        };
        let run = installed.plugin.check(ctx, who, uses);
        let outcome = observed.run(PlanPolicy::KIND, run, answer::decisions).await;
        let said = outcome.result.and_then(|answer| {
            answer.map_err(|failure| {
                gave_up(installed.plugin.generation().identity(), "check", &failure)
            })
        });
        let summary = match &said {
            Ok(verdicts) => {
                let denial = verdicts.iter().find(|it| matches!(it, plan::Verdict::Deny(_)));
                denial.or(verdicts.first()).map_or(("none", None), plan::summary)
            }
            Err(failure) => ("failed", Some(failure.to_string())),
        };
        let identity = installed.plugin.generation().identity();
        let mut decision = Decision::new(PlanPolicy::KIND, identity, summary, outcome.took);
        decision.sample = outcome.sample;
        Called { result: said, decision, failed: None }
    }

    /// Renders every part of a published version; `data` is JSON text. Where the data comes to a limit,
    /// the version's example says whether the template is to blame; one that fails its example is then refused for a
    /// while without a call.
    pub async fn render(
        &self,
        scope: &Scope<'_>,
        key: renderer::VersionKey,
        template: impl Fn() -> renderer::Template + Send + Sync,
        example: impl Fn() -> String + Send + Sync,
        ctx: &CallContext,
        data: &String,
    ) -> Called<Result<renderer::Output, Unrendered>> {
        let installed = choose(&self.renderers, scope);
        let identity = installed.plugin.generation().identity();
        if let Some(failure) = installed.plugin.refused(key) {
            let summary = ("failed", Some(failure.to_string()));
            let decision = Decision::new(Renderer::KIND, identity, summary, Duration::ZERO);
            let result = Ok(Err(Unrendered::TooMuchWork(Blame::Template, failure)));
            return Called { result, decision, failed: None };
        }
        let version = || Some(Version { key, example: example() });
        let observed = ObservedCall {
            shadows: &self.shadows,
            trap_sink: &self.trap_sink,
            plugin: || InstalledPlugin::Renderer(Arc::clone(installed)),
            stats: &installed.stats,
            scope,
            input: hash(key),
            name: "the template",
            call: "render",
            binding: &installed.config.binding,
            version: &version,
            record: || {
                let input = Input::Render { template: template(), data: data.clone() };
                Call { context: ctx.clone(), settings: None, input }
            },
        };
        let run = installed.plugin.render(scope.owner(), Some(key), &template, ctx, data);
        let outcome = observed.run(Renderer::KIND, run, answer::output).await;
        let result = match outcome.result {
            Ok(answer) => rendered(identity, answer),
            Err(failure) if failure.is_limit_of("render") => {
                let owner = scope.owner();
                let blame =
                    installed.plugin.blame(owner, key, &template, ctx, data, &example()).await;
                if blame == Blame::Template {
                    installed.plugin.refuse(key, &failure);
                }
                Ok(Err(Unrendered::TooMuchWork(blame, failure)))
            }
            Err(failure) => Err(failure),
        };
        let summary = match &result {
            Ok(Ok(_)) => ("rendered", None),
            Ok(Err(Unrendered::Data(faults))) => ("invalid", Some(list(faults))),
            Ok(Err(Unrendered::Template(faults))) => ("misconfigured", Some(list(faults))),
            Ok(Err(Unrendered::TooMuchWork(_, failure))) | Err(failure) => {
                ("failed", Some(failure.to_string()))
            }
        };
        let mut decision = Decision::new(Renderer::KIND, identity, summary, outcome.took);
        if let Ok(Ok(output)) = &result {
            decision.blank = blank(output);
        }
        decision.sample = outcome.sample;
        Called { result, decision, failed: None }
    }

    /// Renders a template that is not published yet. It is no call for a message: nothing of it is
    /// sampled, and a trap rolls nothing back.
    ///
    /// # Errors
    /// The plugin gave no answer.
    pub async fn preview(
        &self,
        scope: &Scope<'_>,
        template: &renderer::Template,
        ctx: &CallContext,
        data: &String,
    ) -> Result<Result<renderer::Output, Unrendered>, CallFailure> {
        let policy = &choose(&self.renderers, scope).plugin;
        let answer = policy.render(scope.owner(), None, || template.clone(), ctx, data).await?;
        rendered(policy.generation().identity(), answer)
    }

    /// Compiles a template that is not published yet and says what it reads, or all its faults.
    ///
    /// # Errors
    /// The plugin gave no answer.
    pub async fn variables(
        &self,
        scope: &Scope<'_>,
        template: &renderer::Template,
    ) -> Result<Result<Vec<renderer::Variable>, Vec<Diagnostic>>, CallFailure> {
        choose(&self.renderers, scope).plugin.variables(scope.owner(), template).await
    }

    /// Compiles the MJML of a template that is about to be published, or says all its faults.
    ///
    /// # Errors
    /// The plugin gave no answer.
    pub async fn compile_mjml(
        &self,
        scope: &Scope<'_>,
        ctx: &CallContext,
        document: &mjml::Document,
    ) -> Result<Result<mjml::Compiled, Vec<Diagnostic>>, CallFailure> {
        let installed = choose(&self.mjml_compilers, scope);
        let includes: Vec<_> = document.includes.iter().map(|it| (&it.key, &it.value)).collect();
        let observed = ObservedCall {
            shadows: &self.shadows,
            trap_sink: &self.trap_sink,
            plugin: || InstalledPlugin::Mjml(Arc::clone(installed)),
            stats: &installed.stats,
            scope,
            input: hash((&document.source, &includes)),
            name: "the MJML",
            call: "compile",
            binding: &installed.config.binding,
            version: &|| None,
            record: || {
                let input = Input::Mjml { document: document.clone() };
                Call { context: ctx.clone(), settings: None, input }
            },
        };
        let run = installed.plugin.compile(ctx, document);
        match observed.run(MjmlCompiler::KIND, run, answer::compiled).await.result? {
            Ok(compiled) => Ok(Ok(compiled)),
            Err(Failure::InvalidInput(faults) | Failure::Misconfigured(faults)) => Ok(Err(faults)),
            Err(failure @ Failure::Internal(_)) => {
                Err(gave_up(installed.plugin.generation().identity(), "compile", &failure))
            }
        }
    }

    /// What judges domains, in one line: of another line, another verdict may come.
    #[must_use]
    pub fn domain_policies(&self) -> String {
        let one = |installed: &Arc<Installed<DomainPolicy>>| {
            let identity = installed.plugin.generation().identity();
            let (digest, revision) = (&identity.digest, identity.settings_revision);
            format!("{}={digest}#{revision}", installed.config.binding)
        };
        self.domains.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The records that a domain must or should publish.
    pub async fn require(
        &self,
        scope: &Scope<'_>,
        ctx: &CallContext,
        domain: &domain::Domain,
    ) -> Called<Vec<domain::Requirement>> {
        let installed = choose(&self.domains, scope);
        let record = || Input::Require { domain: domain.clone() };
        let observed = self.observe_domain_call(installed, scope, (ctx, "require"), domain, record);
        let run = installed.plugin.require(ctx, domain);
        let outcome = observed.run(DomainPolicy::KIND, run, answer::requirements).await;
        domain_decision(installed, "require", outcome, |_| "required")
    }

    /// Judges what was seen, or asks for more.
    pub async fn judge(
        &self,
        scope: &Scope<'_>,
        ctx: &CallContext,
        domain: &domain::Domain,
        seen: &[domain::Observation],
    ) -> Called<domain::Verdict> {
        let installed = choose(&self.domains, scope);
        let record = || Input::Judge { domain: domain.clone(), seen: seen.to_vec() };
        let observed = self.observe_domain_call(installed, scope, (ctx, "judge"), domain, record);
        let run = installed.plugin.judge(ctx, domain, seen);
        let answered = observed.run(DomainPolicy::KIND, run, answer::verdict).await;
        domain_decision(installed, "judge", answered, |verdict| match verdict {
            domain::Verdict::Decided(_) => "judged",
            domain::Verdict::Need(_) => "asked for more lookups",
        })
    }

    fn observe_domain_call<'a>(
        &'a self,
        installed: &'a Arc<Installed<DomainPolicy>>,
        scope: &'a Scope<'a>,
        (ctx, call): (&'a CallContext, &'static str),
        domain: &'a domain::Domain,
        input: impl Fn() -> Input + 'a,
    ) -> ObservedCall<'a, impl Fn() -> InstalledPlugin + 'a, impl Fn() -> Call + 'a> {
        ObservedCall {
            shadows: &self.shadows,
            trap_sink: &self.trap_sink,
            plugin: || InstalledPlugin::Domain(Arc::clone(installed)),
            stats: &installed.stats,
            scope,
            input: hash(&domain.name),
            name: "the domain",
            call,
            binding: &installed.config.binding,
            version: &|| None,
            record: move || Call { context: ctx.clone(), settings: None, input: input() },
        }
    }
}

fn domain_decision<T>(
    installed: &Installed<DomainPolicy>,
    call: &'static str,
    outcome: CallResult<T>,
    word: impl Fn(&T) -> &'static str,
) -> Called<T> {
    let identity = installed.plugin.generation().identity();
    let result = outcome
        .result
        .and_then(|answer| answer.map_err(|failure| gave_up(identity, call, &failure)));
    let summary = match &result {
        Ok(answer) => (word(answer), None),
        Err(failure) => ("failed", Some(failure.to_string())),
    };
    let mut decision = Decision::new(DomainPolicy::KIND, identity, summary, outcome.took);
    decision.sample = outcome.sample;
    Called { result, decision, failed: None }
}

/// A renderer's answer, with its faults separated by who is to blame.
fn rendered(
    identity: &Identity,
    answer: Result<renderer::Output, Failure>,
) -> Result<Result<renderer::Output, Unrendered>, CallFailure> {
    match answer {
        Ok(output) => Ok(Ok(output)),
        Err(Failure::InvalidInput(faults)) => Ok(Err(Unrendered::Data(faults))),
        Err(Failure::Misconfigured(faults)) => Ok(Err(Unrendered::Template(faults))),
        Err(failure @ Failure::Internal(_)) => Err(gave_up(identity, "render", &failure)),
    }
}

/// What went out blank, within bounds: a plugin chooses the texts.
fn blank(output: &renderer::Output) -> Vec<String> {
    let named = output.missing.iter().filter(|path| path.len() <= MAX_PATH_BYTES);
    named.take(MAX_BLANK_VARIABLES).cloned().collect()
}

fn choose<'a, P>(installed: &'a [Arc<Installed<P>>], scope: &Scope<'_>) -> &'a Arc<Installed<P>> {
    installed
        .iter()
        .find(|it| it.config.binding.covers(scope))
        .expect("the built-in plugin of every kind covers every call")
}

fn narrowest_first<P>(installed: &mut [Arc<Installed<P>>]) {
    installed.sort_by_key(|it| std::cmp::Reverse(it.config.binding.narrowness()));
}

fn hash(input: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    hasher.finish()
}
