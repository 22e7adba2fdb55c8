//! Kind 3: may this plan make this send, and what does it cost?

use crate::{CallContext, Failure, Plugin};
pub use waxwing_world_plan::exports::waxwing::plugin::plan_policy::{
    Account, Channel, Charge, Decision, Denial, UseRequest,
};

/// The rule of a plan. Pure: the same input, the same answer.
pub trait PlanPolicy: Plugin {
    /// One decision for each use, in order.
    ///
    /// # Errors
    /// [`Failure::Internal`] refuses the send closed; a denial is a [`Decision::Deny`], not an error.
    fn check(
        &self,
        ctx: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure>;
}

/// Exports a [`PlanPolicy`] as a component of the world `plan-restriction`.
#[macro_export]
macro_rules! export_plan_policy {
    ($policy:ty) => {
        const _: () = {
            use $crate::__export::plan as world;
            $crate::__export_plugin!(world, $policy);

            impl world::exports::waxwing::plugin::plan_policy::Guest for Component {
                fn check(
                    ctx: $crate::CallContext,
                    who: $crate::plan_policy::Account,
                    uses: Vec<$crate::plan_policy::UseRequest>,
                ) -> Result<Vec<$crate::plan_policy::Decision>, $crate::Failure> {
                    INSTANCE.with(|it| {
                        $crate::plan_policy::PlanPolicy::check(it.configured()?, &ctx, &who, &uses)
                    })
                }
            }

            #[cfg(target_family = "wasm")]
    $crate::__export::plan::export!(Component with_types_in $crate::__export::plan);
        };
    };
}

/// The part that every kind exports; used by the kinds' macros.
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
                    settings_schema: <$plugin as $crate::Plugin>::settings_schema(),
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
