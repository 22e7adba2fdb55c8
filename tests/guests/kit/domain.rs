//! A domain policy.

#[path = "plugin.rs"]
mod plugin;

pub use plugin::*;
use waxwing_plugin::domain_policy::{Domain, Observation, Requirement, Verdict};
use waxwing_plugin::{CallContext, Failure};

/// The interface `domain-policy`.
pub trait DomainPolicy: Plugin {
    /// The records that the domain must publish.
    fn require(ctx: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure>;

    fn judge(ctx: &CallContext, domain: &Domain, seen: &[Observation]) -> Result<Verdict, Failure>;
}

/// Exports a guest as a component of the world `domain-verification`.
macro_rules! export {
    ($guest:ty) => {
        const _: () = {
            use waxwing_world_domain as world;
            $crate::kit::export_plugin!(world, $guest);

            impl world::exports::waxwing::plugin::domain_policy::Guest for Component {
                fn require(
                    ctx: waxwing_plugin::CallContext,
                    d: waxwing_plugin::domain_policy::Domain,
                ) -> Result<Vec<waxwing_plugin::domain_policy::Requirement>, waxwing_plugin::Failure>
                {
                    <$guest as $crate::kit::DomainPolicy>::require(&ctx, &d)
                }

                fn judge(
                    ctx: waxwing_plugin::CallContext,
                    d: waxwing_plugin::domain_policy::Domain,
                    seen: Vec<waxwing_plugin::domain_policy::Observation>,
                ) -> Result<waxwing_plugin::domain_policy::Verdict, waxwing_plugin::Failure>
                {
                    <$guest as $crate::kit::DomainPolicy>::judge(&ctx, &d, &seen)
                }
            }

            #[cfg(target_family = "wasm")]
            waxwing_world_domain::export!(
                Component with_types_in waxwing_world_domain
            );
        };
    };
}
pub(crate) use export;
