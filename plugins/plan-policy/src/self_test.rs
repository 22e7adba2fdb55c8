//! Checks over the operator's own plans, through the same code that decides real sends.

use waxwing_plugin::plan_policy::{Account, Decision};
use waxwing_plugin::testing::{account, template_use};
use waxwing_plugin::{SelfTestResult, self_check};

use crate::decision::decide;
use crate::plans::{Plan, Plans};
use crate::settings::ANY_PAID_PLAN;

/// Every check; the host activates the policy only if all pass.
pub fn run(plans: &Plans) -> Vec<SelfTestResult> {
    vec![
        self_check("every plan sends its own and every lower plan's templates", order(plans)),
        self_check("a template for paid plans is refused to those who do not pay", paid(plans)),
        self_check("one recipient costs the plan's price", price(plans)),
        self_check("a limit allows its last recipient and refuses the next", limits(plans)),
    ]
}

fn order(plans: &Plans) -> Result<(), String> {
    for (rank, holder) in plans.all().iter().enumerate() {
        for (required_rank, required) in plans.all().iter().enumerate() {
            let name = &required.terms.name;
            let decision = one(plans, &account(&holder.terms.name), Some(name))?;
            let restricted = matches!(
                &decision,
                Decision::Deny(it) if it.code == "restricted-template"
                    && it.required_plan.as_ref() == Some(name)
            );
            if restricted != (rank < required_rank) {
                let holder = &holder.terms.name;
                return Err(format!("plan {holder}, template for {name}: {decision:?}"));
            }
        }
    }
    Ok(())
}

fn paid(plans: &Plans) -> Result<(), String> {
    for paid in [false, true] {
        let who = Account { paid, ..account(&plans.all()[0].terms.name) };
        let decision = one(plans, &who, Some(ANY_PAID_PLAN))?;
        if matches!(decision, Decision::Allow(_)) != paid {
            return Err(format!("an account with paid = {paid}: {decision:?}"));
        }
    }
    Ok(())
}

fn price(plans: &Plans) -> Result<(), String> {
    for plan in plans.all() {
        let decision = one(plans, &account(&plan.terms.name), None)?;
        let expected = plan.terms.credits_per_recipient;
        if !matches!(&decision, Decision::Allow(it) if it.credits == expected) {
            return Err(format!("plan {}: {decision:?}", plan.terms.name));
        }
    }
    Ok(())
}

fn limits(plans: &Plans) -> Result<(), String> {
    for plan in plans.all() {
        let Some(limit) = lowest_limit(plan) else { continue };
        let sent = limit - 1;
        let who =
            Account { sent_last_day: sent, sent_last_month: sent, ..account(&plan.terms.name) };
        let uses = [template_use("self-test", None), template_use("self-test", None)];
        let decisions = decide(plans, &who, &uses);
        let refused = matches!(&decisions[..], [Decision::Allow(_), Decision::Deny(it)]
            if it.code == "plan-limit");
        if !refused {
            return Err(format!("plan {}, limit {limit}: {decisions:?}", plan.terms.name));
        }
    }
    Ok(())
}

fn lowest_limit(plan: &Plan) -> Option<u64> {
    [plan.terms.daily_limit, plan.terms.monthly_limit].into_iter().flatten().min()
}

fn one(plans: &Plans, who: &Account, required: Option<&str>) -> Result<Decision, String> {
    let mut decisions = decide(plans, who, &[template_use("self-test", required)]);
    match (decisions.pop(), decisions.is_empty()) {
        (Some(decision), true) => Ok(decision),
        _ => Err("one use did not get exactly one decision".to_owned()),
    }
}
