//! Kind 2: which DNS records a sender domain needs, and what to make of those that were seen.

use crate::{CallContext, Failure, Plugin};
pub use waxwing_world_domain::exports::waxwing::plugin::domain_policy::{
    Answer, DkimKey, Domain, Finding, Judgement, Lookup, Observation, Outcome, Purpose, RecordType,
    Requirement, Status, Verdict,
};

/// The rule of verification. The host asks DNS; a policy only judges.
pub trait DomainPolicy: Plugin {
    /// The records that the domain must or should publish.
    ///
    /// # Errors
    /// The last verdict of the domain stands.
    fn require(&self, ctx: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure>;

    /// Judges what was seen, or asks for further look-ups (at most 3 rounds, 20 names).
    ///
    /// # Errors
    /// The last verdict of the domain stands.
    fn judge(
        &self,
        ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure>;
}

/// Exports a [`DomainPolicy`] as a component of the world `domain-verification`.
#[macro_export]
macro_rules! export_domain_policy {
    ($policy:ty) => {
        const _: () = {
            use $crate::__export::domain as world;
            $crate::__export_plugin!(world, $policy);

            impl world::exports::waxwing::plugin::domain_policy::Guest for Component {
                fn require(
                    ctx: $crate::CallContext,
                    d: $crate::domain_policy::Domain,
                ) -> Result<Vec<$crate::domain_policy::Requirement>, $crate::Failure> {
                    INSTANCE.with(|it| {
                        $crate::domain_policy::DomainPolicy::require(it.configured()?, &ctx, &d)
                    })
                }

                fn judge(
                    ctx: $crate::CallContext,
                    d: $crate::domain_policy::Domain,
                    seen: Vec<$crate::domain_policy::Observation>,
                ) -> Result<$crate::domain_policy::Verdict, $crate::Failure> {
                    INSTANCE.with(|it| {
                        $crate::domain_policy::DomainPolicy::judge(
                            it.configured()?,
                            &ctx,
                            &d,
                            &seen,
                        )
                    })
                }
            }

            #[cfg(target_family = "wasm")]
    $crate::__export::domain::export!(Component with_types_in $crate::__export::domain);
        };
    };
}
