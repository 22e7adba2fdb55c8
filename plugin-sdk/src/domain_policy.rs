//! Kind 2: which DNS records a sender domain needs, and what to make of those that were seen.
//!
//! The host asks DNS; a policy only judges. A policy that knows its records' values needs one method:
//!
//! ```
//! use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Requirement, records};
//! use waxwing_plugin::{CallContext, Diagnostic, Failure, NoSettings, Plugin};
//!
//! struct OwnershipAndReports;
//!
//! impl Plugin for OwnershipAndReports {
//!     type Settings = NoSettings;
//!
//!     fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl DomainPolicy for OwnershipAndReports {
//!     fn require(&self, _: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
//!         let policy = "v=DMARC1; p=none; rua=mailto:dmarc@example.com";
//!         Ok(vec![records::ownership(domain), records::dmarc(domain, policy)])
//!     }
//! }
//!
//! waxwing_plugin::export_domain_policy!(OwnershipAndReports);
//!
//! # fn main() {
//! use waxwing_plugin::domain_policy::{Status, Verdict};
//! use waxwing_plugin::testing::{answered, configured, context, domain};
//!
//! let policy: OwnershipAndReports = configured("{}").unwrap();
//! let seen = [answered("ownership", &["waxwing-verification=tok3n"])];
//! let verdict = policy.judge(&context(), &domain("example.com"), &seen).unwrap();
//! let Verdict::Decided(judgement) = verdict else { panic!("nothing more to look up") };
//! assert_eq!(judgement.findings[0].status, Status::Satisfied);
//! assert_eq!(judgement.findings[1].status, Status::Unknown); // Not looked up yet.
//! # }
//! ```

mod judge;
pub mod records;

use crate::dns::Reading;
use crate::{CallContext, Failure, Plugin};
pub use judge::judge_each;
pub use waxwing_world_domain::exports::waxwing::plugin::domain_policy::{
    Answer, DkimKey, Domain, Finding, Judgement, Lookup, Observation, Outcome, Purpose, RecordType,
    Requirement, Status, Verdict,
};

/// The rule of verification. Pure: the same observations, the same verdict.
pub trait DomainPolicy: Plugin {
    /// The records that the domain must or should publish; by default the proof of ownership and
    /// the domain's DKIM keys. The host insists on a required record of ownership.
    ///
    /// # Errors
    /// The last verdict of the domain stands.
    fn require(&self, _ctx: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        let keys = domain.dkim.iter().map(|key| records::dkim(domain, key));
        Ok(std::iter::once(records::ownership(domain)).chain(keys).collect())
    }

    /// What the records that one resolver saw mean for one requirement; by default one of them must
    /// have the suggested value.
    fn read(&self, _domain: &Domain, requirement: &Requirement, records: &[String]) -> Reading {
        Reading::of_suggested_value(requirement, records)
    }

    /// Judges what was seen, or asks for further lookups (at most 3 rounds, 20 names). By default
    /// [`read`](Self::read) for each requirement, by [`judge_each`].
    ///
    /// # Errors
    /// The last verdict of the domain stands.
    fn judge(
        &self,
        ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure> {
        let requirements = self.require(ctx, domain)?;
        let read = |it: &Requirement, records: &[String]| self.read(domain, it, records);
        Ok(Verdict::Decided(judge_each(&requirements, seen, read)))
    }
}

/// Exports a [`DomainPolicy`] as a component of the world `domain-verification`.
#[macro_export]
macro_rules! export_domain_policy {
    ($policy:ty) => {
        #[cfg(not(target_family = "wasm"))]
        impl $crate::testing::Golden for $policy {
            fn answer(input: &str) -> Result<String, String> {
                $crate::testing::answers::domain::<Self>(input)
            }
        }

        const _: () = {
            use $crate::export::worlds::domain as world;
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
            $crate::export::worlds::domain::export!(Component with_types_in $crate::export::worlds::domain);
        };
    };
}
