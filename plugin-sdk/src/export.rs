//! The part of a component that all kinds have in common; used by the kinds' macros.

/// The generated worlds.
#[doc(hidden)]
pub mod worlds {
    pub use waxwing_world_domain as domain;
    pub use waxwing_world_mjml as mjml;
    pub use waxwing_world_plan as plan;
    pub use waxwing_world_template as template;
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_plugin {
    ($world:ident, $plugin:ty) => {
        thread_local! {
            static INSTANCE: $crate::Instance<$plugin> = const { $crate::Instance::new() };
        }

        struct Component;

        // Natively nothing is exported, so this says that the plugin is in use: no `dead_code`.
        #[cfg(not(target_family = "wasm"))]
        const _: fn(&str) -> Result<(), Vec<$crate::Diagnostic>> = |settings| {
            let Component = Component;
            INSTANCE.with(|it| it.configure(settings))
        };

        impl $world::exports::waxwing::plugin::plugin::Guest for Component {
            fn describe() -> $world::exports::waxwing::plugin::plugin::Manifest {
                $world::exports::waxwing::plugin::plugin::Manifest {
                    name: env!("CARGO_PKG_NAME").to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
                    settings_schema: INSTANCE.with(|it| it.describe()),
                }
            }

            fn configure(settings: String) -> Result<(), Vec<$crate::Diagnostic>> {
                INSTANCE.with(|it| it.configure(&settings))
            }

            fn self_test(
                ctx: $crate::CallContext,
            ) -> Vec<$world::exports::waxwing::plugin::plugin::SelfTestResult> {
                INSTANCE.with(|it| match it.configured() {
                    Ok(it) => $crate::Plugin::self_test(it, &ctx)
                        .into_iter()
                        .map(|it| $world::exports::waxwing::plugin::plugin::SelfTestResult {
                            name: it.name,
                            passed: it.passed,
                            detail: it.detail,
                        })
                        .collect(),
                    Err(_) => vec![$world::exports::waxwing::plugin::plugin::SelfTestResult {
                        name: "configure".to_owned(),
                        passed: false,
                        detail: "self-test was called before `configure`".to_owned(),
                    }],
                })
            }
        }
    };
}
