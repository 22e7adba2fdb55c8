//! What the worlds have in common: `describe`, `configure`, `self-test`.

use std::future::Future;

use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::bindings::types::{CallContext, Diagnostic};
use super::bindings::{domain, mjml, plan, template};
use super::error::BadManifest;
use super::kind::Kind;
use super::sandbox::Guest;

/// What a plugin says of itself.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// JSON Schema (2020-12) of its settings.
    pub settings_schema: String,
}

impl Manifest {
    /// Whether it can be shown: a guest may write anything into it.
    pub(in crate::plugin) fn check(&self) -> Result<(), BadManifest> {
        let texts = [
            ("name", &self.name, 64),
            ("version", &self.version, 64),
            ("summary", &self.summary, 500),
        ];
        for (field, text, most) in texts {
            if text.chars().count() > most {
                return Err(BadManifest::TooLong { field, most });
            }
            if text.chars().any(char::is_control) {
                return Err(BadManifest::ControlCharacters { field });
            }
        }
        let named = !self.name.trim().is_empty() && !self.version.trim().is_empty();
        if named { Ok(()) } else { Err(BadManifest::Unnamed) }
    }
}

/// One check of a plugin's own test.
#[derive(Debug, Clone)]
pub struct SelfTest {
    pub name: String,
    /// Whether it held.
    pub passed: bool,
    pub detail: String,
}

/// One world of the interface, instantiated. `json` of the interface is a `String` in the generated
/// code, so its callers pass a `&String`.
#[expect(clippy::ptr_arg, reason = "the generated code takes no &str for the type `json`")]
pub trait World: Sized + Send + 'static {
    /// A component that is linked and type-checked.
    type Pre: Send + Sync + 'static;
    const KIND: Kind;

    /// Checks the types of a component against the world.
    fn pre(pre: InstancePre<Guest>) -> wasmtime::Result<Self::Pre>;
    fn instantiate(
        pre: &Self::Pre,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Self>> + Send;
    fn describe(
        &self,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Manifest>> + Send;
    fn configure(
        &self,
        store: &mut Store<Guest>,
        settings: &String,
    ) -> impl Future<Output = wasmtime::Result<Result<(), Vec<Diagnostic>>>> + Send;
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

world!(Plan, plan::PlanRestriction, plan::PlanRestrictionPre<Guest>);
world!(Domain, domain::DomainVerification, domain::DomainVerificationPre<Guest>);
world!(Renderer, template::TemplateRenderer, template::TemplateRendererPre<Guest>);
world!(Mjml, mjml::MjmlCompilation, mjml::MjmlCompilationPre<Guest>);
