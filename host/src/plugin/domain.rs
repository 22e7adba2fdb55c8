//! The domain policy: which records a domain needs, and what to make of those that were seen.

use std::time::Instant;

use super::bindings::domain::DomainVerification;
use super::bindings::domain::exports::waxwing::plugin::domain_policy as wit;
use super::bindings::types::{CallContext, Failure};
use super::bindings::world::Kind;
use super::decision::{Decision, Identity};
use super::error::{CallFailure, list};
use super::generation::{Budget, Generation, Instance};

pub use wit::{
    Answer, Domain, Finding, Judgement, Lookup, Observation, Outcome, Purpose, RecordType,
    Requirement, Status, Verdict,
};

/// The slot's generation; each call runs in a fresh instance.
#[derive(Debug)]
pub struct DomainPolicy {
    generation: Generation<DomainVerification>,
}

impl DomainPolicy {
    pub(super) fn new(generation: Generation<DomainVerification>) -> Self {
        Self { generation }
    }

    pub(super) fn about(&self) -> (&Identity, &str) {
        (self.generation.identity(), self.generation.summary())
    }

    /// The records that the domain must or should publish.
    ///
    /// # Errors
    /// The plugin gave no answer; the last judgement stands.
    pub async fn require(
        &self,
        ctx: &CallContext,
        domain: &Domain,
    ) -> Result<Vec<Requirement>, CallFailure> {
        let mut instance = self.generation.instance().await?;
        instance.arm(Budget::Call);
        let (world, store) = instance.parts();
        let called = world.waxwing_plugin_domain_policy().call_require(store, ctx, domain).await;
        let answered = instance.outcome("require", Budget::Call, called)?;
        answered.map_err(|failure| gave_up(&instance, "require", failure))
    }

    /// Judges what was seen, or asks for more; with the record of the decision.
    ///
    /// # Errors
    /// The plugin gave no answer; the last judgement stands.
    pub async fn judge(
        &self,
        ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<(Verdict, Decision), CallFailure> {
        let start = Instant::now();
        let mut instance = self.generation.instance().await?;
        instance.arm(Budget::Call);
        let (world, store) = instance.parts();
        let called =
            world.waxwing_plugin_domain_policy().call_judge(store, ctx, domain, seen).await;
        let answered = instance.outcome("judge", Budget::Call, called)?;
        let verdict = answered.map_err(|failure| gave_up(&instance, "judge", failure))?;
        let summary = match &verdict {
            Verdict::Decided(_) => "judged",
            Verdict::Need(_) => "asked for more look-ups",
        };
        let identity = self.generation.identity();
        let record = Decision::new(Kind::Domain, identity, summary, None, start.elapsed());
        Ok((verdict, record))
    }
}

fn gave_up(
    instance: &Instance<DomainVerification>,
    call: &'static str,
    failure: Failure,
) -> CallFailure {
    let detail = match failure {
        Failure::InvalidInput(faults) | Failure::Misconfigured(faults) => list(&faults),
        Failure::Internal(detail) => detail,
    };
    instance.gave_up(call, detail)
}
