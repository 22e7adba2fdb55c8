//! The domain policy: which records a domain needs, and what to make of those that were seen.

use crate::plugin::runtime::bindings::domain::DomainVerification;
use crate::plugin::runtime::bindings::domain::exports::waxwing::plugin::domain_policy as wit;
use crate::plugin::runtime::bindings::types::{CallContext, Failure};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::generation::Generation;
use crate::plugin::runtime::instance::Budget;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::CallPurpose;
use crate::plugin::runtime::pool::Instances;
use crate::plugin::runtime::pool::Pool;

pub use wit::{
    Answer, DkimKey, Domain, Finding, Judgement, Lookup, Observation, Outcome, Purpose, RecordType,
    Requirement, Status, Verdict,
};

/// A generation of a domain policy.
#[derive(Debug)]
pub struct DomainPolicy(Pool<DomainVerification>);

impl DomainPolicy {
    pub(in crate::plugin) const KIND: Kind = Kind::Domain;

    pub(in crate::plugin) fn new(
        generation: Generation<DomainVerification>,
        instances: Instances,
    ) -> Self {
        Self(Pool::new(generation, instances))
    }

    pub(in crate::plugin) fn generation(&self) -> &Generation<DomainVerification> {
        self.0.generation()
    }

    /// The records that the domain must or should publish.
    pub async fn require(
        &self,
        ctx: &CallContext,
        domain: &Domain,
    ) -> Result<Result<Vec<Requirement>, Failure>, CallFailure> {
        let mut borrowed = self.0.borrow(CallPurpose::of(ctx)).await?;
        let instance = borrowed.instance();
        instance.arm_for(ctx);
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let call = world.waxwing_plugin_domain_policy().call_require(store, ctx, domain);
        let called = cpu.of(call).await;
        let answer = instance.outcome("require", Budget::Call, called)?;
        borrowed.give_back();
        Ok(answer)
    }

    /// Judges what was seen, or asks for more.
    pub async fn judge(
        &self,
        ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Result<Verdict, Failure>, CallFailure> {
        let mut borrowed = self.0.borrow(CallPurpose::of(ctx)).await?;
        let instance = borrowed.instance();
        instance.arm_for(ctx);
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let call = world.waxwing_plugin_domain_policy().call_judge(store, ctx, domain, seen);
        let called = cpu.of(call).await;
        let answer = instance.outcome("judge", Budget::Call, called)?;
        borrowed.give_back();
        Ok(answer)
    }
}
