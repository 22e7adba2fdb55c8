//! What the three worlds have in common: `describe`, `configure`, `self-test`.

use std::fmt;
use std::future::Future;

use serde::{Deserialize, Serialize};
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::types::{CallContext, Diagnostic};
use crate::plugin::runtime::sandbox::Guest;

/// A kind of plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Turns a template and data into the parts of a message.
    Renderer,
    /// Says which DNS records a domain needs, and judges what was seen.
    Domain,
    /// Says what a plan may send and what it costs.
    Plan,
}

/// What a plugin says of itself.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// JSON Schema (2020-12) of its settings.
    pub settings_schema: String,
}

impl Manifest {
    /// Whether it can be shown: a guest may write anything into it.
    pub(in crate::plugin) fn check(&self) -> Result<(), String> {
        let texts = [
            ("name", &self.name, 64),
            ("version", &self.version, 64),
            ("summary", &self.summary, 500),
        ];
        for (field, text, most) in texts {
            if text.chars().count() > most {
                return Err(format!("its {field} has more than {most} characters"));
            }
            if text.chars().any(char::is_control) {
                return Err(format!("its {field} has control characters"));
            }
        }
        let named = !self.name.trim().is_empty() && !self.version.trim().is_empty();
        if named { Ok(()) } else { Err("its name or its version is empty".to_owned()) }
    }
}

/// One check of a plugin's own test.
#[derive(Debug, Clone)]
pub struct SelfTest {
    /// Which.
    pub name: String,
    /// Whether it held.
    pub passed: bool,
    /// What it says.
    pub detail: String,
}

/// One world of the interface, instantiated. `json` of the interface is a `String` in the generated
/// code, so its callers pass a `&String`.
#[expect(clippy::ptr_arg, reason = "the generated code takes no &str for the type `json`")]
pub trait World: Sized + Send + 'static {
    /// A component that is linked and type-checked.
    type Pre: Send + Sync + 'static;
    /// Its kind.
    const KIND: Kind;

    /// Checks the types of a component against the world.
    fn pre(pre: InstancePre<Guest>) -> wasmtime::Result<Self::Pre>;
    /// A new instance.
    fn instantiate(
        pre: &Self::Pre,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Self>> + Send;
    /// `describe`.
    fn describe(
        &self,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Manifest>> + Send;
    /// `configure`.
    fn configure(
        &self,
        store: &mut Store<Guest>,
        settings: &String,
    ) -> impl Future<Output = wasmtime::Result<Result<(), Vec<Diagnostic>>>> + Send;
    /// `self-test`.
    fn self_test(
        &self,
        store: &mut Store<Guest>,
        ctx: &CallContext,
    ) -> impl Future<Output = wasmtime::Result<Vec<SelfTest>>> + Send;
}

macro_rules! world {
    ($kind:ident, $world:ty, $pre:ty) => {
        impl World for $world {
            type Pre = $pre;
            const KIND: Kind = Kind::$kind;

            fn pre(pre: InstancePre<Guest>) -> wasmtime::Result<$pre> {
                <$pre>::new(pre)
            }

            async fn instantiate(pre: &$pre, store: &mut Store<Guest>) -> wasmtime::Result<Self> {
                pre.instantiate_async(store).await
            }

            async fn describe(&self, store: &mut Store<Guest>) -> wasmtime::Result<Manifest> {
                let it = self.waxwing_plugin_plugin().call_describe(store).await?;
                Ok(Manifest {
                    name: it.name,
                    version: it.version,
                    summary: it.summary,
                    settings_schema: it.settings_schema,
                })
            }

            async fn configure(
                &self,
                store: &mut Store<Guest>,
                settings: &String,
            ) -> wasmtime::Result<Result<(), Vec<Diagnostic>>> {
                self.waxwing_plugin_plugin().call_configure(store, settings).await
            }

            async fn self_test(
                &self,
                store: &mut Store<Guest>,
                ctx: &CallContext,
            ) -> wasmtime::Result<Vec<SelfTest>> {
                let tests = self.waxwing_plugin_plugin().call_self_test(store, ctx).await?;
                Ok(tests
                    .into_iter()
                    .map(|it| SelfTest { name: it.name, passed: it.passed, detail: it.detail })
                    .collect())
            }
        }
    };
}

world!(Plan, super::plan::PlanRestriction, super::plan::PlanRestrictionPre<Guest>);
world!(Domain, super::domain::DomainVerification, super::domain::DomainVerificationPre<Guest>);
world!(Renderer, super::template::TemplateRenderer, super::template::TemplateRendererPre<Guest>);

impl Kind {
    /// The interface that a component of the kind exports, without its version.
    #[must_use]
    pub fn interface(self) -> &'static str {
        match self {
            Self::Renderer => "waxwing:plugin/renderer",
            Self::Domain => "waxwing:plugin/domain-policy",
            Self::Plan => "waxwing:plugin/plan-policy",
        }
    }

    /// As in `kind = "plan"`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Renderer => "renderer",
            Self::Domain => "domain",
            Self::Plan => "plan",
        }
    }

    /// The settings that limit it: time of a call, time of a preparing call, memory, bytes out.
    pub(in crate::plugin) fn knobs(self) -> Knobs {
        match self {
            Self::Renderer => knobs!("renderer"),
            Self::Domain => knobs!("domain"),
            Self::Plan => knobs!("plan"),
        }
    }
}

/// The names of the settings that limit a kind.
pub(in crate::plugin) struct Knobs {
    /// Running time of a call.
    pub call: &'static str,
    /// Running time of a preparing call.
    pub prepare: &'static str,
    /// Memory of an instance.
    pub memory: &'static str,
    /// Bytes out of a call.
    pub output: &'static str,
}

macro_rules! knobs {
    ($kind:literal) => {
        Knobs {
            call: concat!("plugins.limits.", $kind, ".call_ms"),
            prepare: concat!("plugins.limits.", $kind, ".prepare_ms"),
            memory: concat!("plugins.limits.", $kind, ".memory_bytes"),
            output: concat!("plugins.limits.", $kind, ".output_bytes"),
        }
    };
}
use knobs;

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Renderer => "template renderer",
            Self::Domain => "domain policy",
            Self::Plan => "plan policy",
        })
    }
}
