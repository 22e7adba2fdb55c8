//! The domain policy: which records a domain needs, and what to make of those that were seen.

use super::Kind;
use super::bindings::domain::DomainVerification;
use super::bindings::domain::exports::waxwing::plugin::domain_policy as wit;
use super::bindings::types::{CallContext, Failure};
use super::error::CallFailure;
use super::generation::Generation;
use super::instance::Budget;
use super::log::CallPurpose;
use super::pool::Pool;
use super::slot::Instances;

pub use wit::{
    Answer, DkimKey, Domain, Finding, Judgement, Lookup, Observation, Outcome, Purpose, RecordType,
    Requirement, Status, Verdict,
};

/// A generation of a domain policy.
#[derive(Debug)]
pub struct DomainPolicy(Pool<DomainVerification>);

impl DomainPolicy {
    pub(super) const KIND: Kind = Kind::Domain;

    pub(super) fn new(generation: Generation<DomainVerification>, instances: Instances) -> Self {
        Self(Pool::new(generation, instances))
    }

    pub(super) fn generation(&self) -> &Generation<DomainVerification> {
        self.0.generation()
    }

    /// The records that the domain must or should publish.
    ///
    /// # Errors
    /// The plugin gave no answer.
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
    ///
    /// # Errors
    /// The plugin gave no answer.
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
