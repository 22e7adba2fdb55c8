//! The plan policy: may this plan make these sends, and what do they cost?

use crate::plugin::runtime::bindings::plan::PlanRestriction;
use crate::plugin::runtime::bindings::plan::exports::waxwing::plugin::plan_policy as wit;
use crate::plugin::runtime::bindings::types::{CallContext, Failure};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::generation::Generation;
use crate::plugin::runtime::instance::Budget;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::{CallPurpose, printable};
use crate::plugin::runtime::pool::Instances;
use crate::plugin::runtime::pool::Pool;

pub use wit::{Account, Channel, Charge, Decision as Verdict, Denial, UseRequest};

/// A generation of a plan policy.
#[derive(Debug)]
pub struct PlanPolicy(Pool<PlanRestriction>);

impl PlanPolicy {
    pub(in crate::plugin) const KIND: Kind = Kind::Plan;

    pub(in crate::plugin) fn new(
        generation: Generation<PlanRestriction>,
        instances: Instances,
    ) -> Self {
        Self(Pool::new(generation, instances))
    }

    pub(in crate::plugin) fn generation(&self) -> &Generation<PlanRestriction> {
        self.0.generation()
    }

    /// One verdict for each use, in order; or what the plugin says instead.
    pub(in crate::plugin) async fn check(
        &self,
        ctx: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Result<Vec<Verdict>, Failure>, CallFailure> {
        let mut borrowed = self.0.borrow(CallPurpose::of(ctx)).await?;
        let instance = borrowed.instance();
        instance.arm_for(ctx);
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let call = world.waxwing_plugin_plan_policy().call_check(store, ctx, who, uses);
        let called = cpu.of(call).await;
        let answer = instance.outcome("check", Budget::Call, called)?;
        if let Ok(verdicts) = &answer
            && verdicts.len() != uses.len()
        {
            let detail = format!("{} uses, {} decisions", uses.len(), verdicts.len());
            return Err(instance.broken("check", detail));
        }
        borrowed.give_back();
        Ok(answer.map(|verdicts| verdicts.into_iter().map(printed).collect()))
    }
}

/// A guest's texts reach clients and logs: on one line, and of a bounded length.
fn printed(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Allow(charge) => {
            let reason = charge.reason.as_deref().map(printable);
            Verdict::Allow(Charge { reason, ..charge })
        }
        Verdict::Deny(denial) => Verdict::Deny(Denial {
            code: printable(&denial.code),
            message: printable(&denial.message),
            required_plan: denial.required_plan.as_deref().map(printable),
            retry_after_s: denial.retry_after_s,
        }),
    }
}

/// What is recorded of a verdict: a word, and the plugin's reason.
pub(in crate::plugin) fn summary(verdict: &Verdict) -> (&'static str, Option<String>) {
    match verdict {
        Verdict::Allow(charge) => ("allow", charge.reason.clone()),
        Verdict::Deny(denial) => ("deny", Some(denial.message.clone())),
    }
}
