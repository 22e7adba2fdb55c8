//! The plan policy: may this plan make these sends, and what do they cost?

use std::time::Instant;

use super::bindings::plan::PlanRestriction;
use super::bindings::plan::exports::waxwing::plugin::plan_policy as wit;
use super::bindings::types::{CallContext, Failure};
use super::bindings::world::Kind;
use super::decision::{Decision, Identity};
use super::error::{CallFailure, list};
use super::generation::{Budget, Generation};

pub use wit::{Account, Channel, Charge, Decision as Verdict, Denial, UseRequest};

/// The slot's generation. Each check runs in a fresh instance, so nothing of one account can be
/// seen in the check of another.
#[derive(Debug)]
pub struct PlanPolicy {
    generation: Generation<PlanRestriction>,
}

impl PlanPolicy {
    pub(super) fn new(generation: Generation<PlanRestriction>) -> Self {
        Self { generation }
    }

    pub(super) fn about(&self) -> (&Identity, &str) {
        (self.generation.identity(), self.generation.summary())
    }

    /// One verdict for each use, in order, with its record.
    ///
    /// # Errors
    /// The plugin gave no answer; the send is refused closed.
    pub async fn check(
        &self,
        ctx: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<(Verdict, Decision)>, CallFailure> {
        let start = Instant::now();
        let mut instance = self.generation.instance().await?;
        instance.arm(Budget::Call);
        let (world, store) = instance.parts();
        let called = world.waxwing_plugin_plan_policy().call_check(store, ctx, who, uses).await;
        let verdicts = match instance.outcome("check", Budget::Call, called)? {
            Ok(verdicts) => verdicts,
            Err(Failure::InvalidInput(faults) | Failure::Misconfigured(faults)) => {
                return Err(instance.gave_up("check", list(&faults)));
            }
            Err(Failure::Internal(detail)) => return Err(instance.gave_up("check", detail)),
        };
        if verdicts.len() != uses.len() {
            let detail = format!("{} uses, {} decisions", uses.len(), verdicts.len());
            return Err(instance.broken("check", detail));
        }
        let took = start.elapsed();
        let recorded = |verdict: Verdict| {
            let (summary, reason) = match &verdict {
                Verdict::Allow(charge) => ("allow", charge.reason.clone()),
                Verdict::Deny(denial) => ("deny", Some(denial.message.clone())),
            };
            let record =
                Decision::new(Kind::Plan, self.generation.identity(), summary, reason, took);
            (verdict, record)
        };
        Ok(verdicts.into_iter().map(recorded).collect())
    }
}
