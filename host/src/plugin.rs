//! The plugin host: three kinds of WebAssembly component, each behind one typed call.
//!
//! A plugin has no file, socket, clock or secret. It cannot stop, stall, grow or crash the server;
//! its failure is a [`CallFailure`], which the journey turns into a refusal. There is no native
//! fall-back. Each kind has one slot; a slot's generation is swapped as a whole, and a call works
//! with the generation that it began with.

mod bindings;
mod builtin;
mod cache;
pub mod decision;
pub mod domain;
mod engine;
mod error;
mod generation;
mod inspect;
mod limits;
pub mod plan;
pub mod renderer;
mod sandbox;

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::clock::Clock;

pub use bindings::types::{CallContext, Diagnostic, Pair};
pub use bindings::world::Kind;
pub use error::{CallFailure, LoadError};
pub use limits::{CallLimits, Limits};

use engine::PluginEngine;
use generation::Loader;

/// The three slots.
#[derive(Debug)]
pub struct Plugins {
    clock: Clock,
    renderer: ArcSwap<renderer::Renderer>,
    plan: ArcSwap<plan::PlanPolicy>,
    domain: ArcSwap<domain::DomainPolicy>,
}

/// What a slot runs, for lists and health pages.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The kind.
    pub kind: Kind,
    /// Name, version and digest of the component.
    #[serde(flatten)]
    pub identity: decision::Identity,
    /// What it says of itself.
    pub summary: String,
}

impl Plugins {
    /// Compiles, links, configures and tests the built-in plugins.
    ///
    /// `cache` is a directory for compiled code, which only this server may write; `secret` keys
    /// the digests of what is in it.
    ///
    /// # Errors
    /// The machine cannot run the engine, or a plugin did not pass its own test.
    pub async fn start(
        limits: Limits,
        cache: &Path,
        secret: &[u8],
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let engine = PluginEngine::start()?;
        let cache = cache::CompiledCache::open(cache, secret);
        let loader = Loader::new(engine, cache, clock.clone())?;
        let (renderer, plan, domain) = tokio::try_join!(
            loader.load(builtin::LIQUID_RENDERER, limits.renderer, "{}"),
            loader.load(builtin::PLAN_POLICY, limits.plan, "{}"),
            loader.load(builtin::DOMAIN_POLICY, limits.domain, "{}"),
        )?;
        Ok(Self {
            clock,
            renderer: ArcSwap::from_pointee(renderer::Renderer::new(renderer)),
            plan: ArcSwap::from_pointee(plan::PlanPolicy::new(plan)),
            domain: ArcSwap::from_pointee(domain::DomainPolicy::new(domain)),
        })
    }

    /// The renderer of this moment; hold it for the whole of one message.
    #[must_use]
    pub fn renderer(&self) -> Arc<renderer::Renderer> {
        self.renderer.load_full()
    }

    /// The plan policy of this moment.
    #[must_use]
    pub fn plan(&self) -> Arc<plan::PlanPolicy> {
        self.plan.load_full()
    }

    /// The domain policy of this moment.
    #[must_use]
    pub fn domain(&self) -> Arc<domain::DomainPolicy> {
        self.domain.load_full()
    }

    /// The context of a call that is made now.
    #[must_use]
    pub fn context(&self, call_id: String) -> CallContext {
        context(call_id, &self.clock)
    }

    /// What each slot runs.
    #[must_use]
    pub fn running(&self) -> [Running; 3] {
        let entry = |kind, (identity, summary): (&decision::Identity, &str)| Running {
            kind,
            identity: identity.clone(),
            summary: summary.to_owned(),
        };
        [
            entry(Kind::Renderer, self.renderer.load().about()),
            entry(Kind::Plan, self.plan.load().about()),
            entry(Kind::Domain, self.domain.load().about()),
        ]
    }
}

fn context(call_id: String, clock: &Clock) -> CallContext {
    CallContext {
        call_id,
        now_unix_ms: clock.now().unsigned_millis(),
        locale: None,
        dry_run: false,
        extra: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
