//! A plan policy; without a word of its own it allows every use for one credit a recipient.

#[path = "plugin.rs"]
mod plugin;

pub use plugin::*;
use waxwing_plugin::plan_policy::{Account, Charge, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

/// The interface `plan-policy`.
pub trait PlanPolicy: Plugin {
    /// One decision for each use, in order.
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        Ok(uses.iter().map(|it| allow(it, 1, Self::NAME)).collect())
    }
}

/// Allows a use at a price for each recipient.
pub fn allow(r#use: &UseRequest, price: u32, reason: &str) -> Decision {
    let credits = r#use.recipients.saturating_mul(price);
    Decision::Allow(Charge { credits, reason: Some(reason.to_owned()) })
}

/// Exports a guest as a component of the world `plan-restriction`.
macro_rules! export {
    ($guest:ty) => {
        const _: () = {
            use waxwing_world_plan as world;
            $crate::kit::export_plugin!(world, $guest);

            impl world::exports::waxwing::plugin::plan_policy::Guest for Component {
                fn check(
                    ctx: waxwing_plugin::CallContext,
                    who: waxwing_plugin::plan_policy::Account,
                    uses: Vec<waxwing_plugin::plan_policy::UseRequest>,
                ) -> Result<Vec<waxwing_plugin::plan_policy::Decision>, waxwing_plugin::Failure>
                {
                    <$guest as $crate::kit::PlanPolicy>::check(&ctx, &who, &uses)
                }
            }

            #[cfg(target_family = "wasm")]
            waxwing_world_plan::export!(
                Component with_types_in waxwing_world_plan
            );
        };
    };
}
pub(crate) use export;
