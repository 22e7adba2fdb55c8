//! What every guest exports, below the SDK: the SDK takes a plugin's name from its package, and
//! these guests share one; and what a guest does wrong, an SDK may come to prevent.

use waxwing_plugin::{CallContext, Diagnostic, Manifest, SelfTestResult};

/// The part that all kinds have; a guest says what differs from a good one.
pub trait Plugin {
    /// The name in the manifest.
    const NAME: &'static str;
    /// The version in the manifest.
    const VERSION: &'static str = "1.0.0";

    fn describe() -> Manifest {
        manifest(Self::NAME, Self::VERSION, r#"{"type":"object"}"#)
    }

    /// Takes the settings, as JSON text.
    fn configure(_settings: &str) -> Result<(), Vec<Diagnostic>> {
        Ok(())
    }

    /// Checks before traffic.
    fn self_test(_ctx: &CallContext) -> Vec<SelfTestResult> {
        Vec::new()
    }
}

/// A manifest with the usual summary.
pub fn manifest(name: &str, version: &str, settings_schema: &str) -> Manifest {
    Manifest {
        name: name.to_owned(),
        version: version.to_owned(),
        summary: "A guest of the server's tests".to_owned(),
        settings_schema: settings_schema.to_owned(),
    }
}

/// Implements the interface `plugin` of a world.
macro_rules! export_plugin {
    ($world:ident, $guest:ty) => {
        struct Component;

        // Natively nothing is exported, so this says that the guest is in use: no `dead_code`.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> Component = || Component;

        impl $world::exports::waxwing::plugin::plugin::Guest for Component {
            fn describe() -> $world::exports::waxwing::plugin::plugin::Manifest {
                let it = <$guest as $crate::kit::Plugin>::describe();
                $world::exports::waxwing::plugin::plugin::Manifest {
                    name: it.name,
                    version: it.version,
                    summary: it.summary,
                    settings_schema: it.settings_schema,
                }
            }

            fn configure(settings: String) -> Result<(), Vec<waxwing_plugin::Diagnostic>> {
                <$guest as $crate::kit::Plugin>::configure(&settings)
            }

            fn self_test(
                ctx: waxwing_plugin::CallContext,
            ) -> Vec<$world::exports::waxwing::plugin::plugin::SelfTestResult> {
                <$guest as $crate::kit::Plugin>::self_test(&ctx)
                    .into_iter()
                    .map(|it| $world::exports::waxwing::plugin::plugin::SelfTestResult {
                        name: it.name,
                        passed: it.passed,
                        detail: it.detail,
                    })
                    .collect()
            }
        }
    };
}
pub(crate) use export_plugin;
