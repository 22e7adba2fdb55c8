//! Checks over the operator's own plans, through the same code that decides real sends.

use waxwing_plugin::plan_policy::{Account, Decision};
use waxwing_plugin::testing::{account, template_use};
use waxwing_plugin::{SelfTestResult, self_check};

use crate::decision::decide;
use crate::ladder::{Ladder, Rung};
use crate::settings::ANY_PAID_PLAN;

/// Every check; the host activates the policy only if all pass.
pub fn run(ladder: &Ladder) -> Vec<SelfTestResult> {
    vec![
        self_check("every plan sends its own and every lower plan's templates", order(ladder)),
        self_check("a template for paid plans is refused to those who do not pay", paid(ladder)),
        self_check("one recipient costs the plan's price", price(ladder)),
        self_check("a limit allows its last recipient and refuses the next", limits(ladder)),
    ]
}

fn order(ladder: &Ladder) -> Result<(), String> {
    for (rank, holder) in ladder.rungs().iter().enumerate() {
        for (required_rank, required) in ladder.rungs().iter().enumerate() {
            let name = &required.terms.name;
            let decision = one(ladder, &account(&holder.terms.name), Some(name))?;
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

fn paid(ladder: &Ladder) -> Result<(), String> {
    for paid in [false, true] {
        let who = Account { paid, ..account(&ladder.rungs()[0].terms.name) };
        let decision = one(ladder, &who, Some(ANY_PAID_PLAN))?;
        if matches!(decision, Decision::Allow(_)) != paid {
            return Err(format!("an account with paid = {paid}: {decision:?}"));
        }
    }
    Ok(())
}

fn price(ladder: &Ladder) -> Result<(), String> {
    for rung in ladder.rungs() {
        let decision = one(ladder, &account(&rung.terms.name), None)?;
        let expected = rung.terms.credits_per_recipient;
        if !matches!(&decision, Decision::Allow(it) if it.credits == expected) {
            return Err(format!("plan {}: {decision:?}", rung.terms.name));
        }
    }
    Ok(())
}

fn limits(ladder: &Ladder) -> Result<(), String> {
    for rung in ladder.rungs() {
        let Some(limit) = lowest_limit(rung) else { continue };
        let sent = limit - 1;
        let who =
            Account { sent_last_day: sent, sent_last_month: sent, ..account(&rung.terms.name) };
        let uses = [template_use("self-test", None), template_use("self-test", None)];
        let decisions = decide(ladder, &who, &uses);
        let refused = matches!(&decisions[..], [Decision::Allow(_), Decision::Deny(it)]
            if it.code == "plan-limit");
        if !refused {
            return Err(format!("plan {}, limit {limit}: {decisions:?}", rung.terms.name));
        }
    }
    Ok(())
}

fn lowest_limit(rung: &Rung) -> Option<u64> {
    [rung.terms.daily_limit, rung.terms.monthly_limit].into_iter().flatten().min()
}

fn one(ladder: &Ladder, who: &Account, required: Option<&str>) -> Result<Decision, String> {
    let mut decisions = decide(ladder, who, &[template_use("self-test", required)]);
    match (decisions.pop(), decisions.is_empty()) {
        (Some(decision), true) => Ok(decision),
        _ => Err("one use did not get exactly one decision".to_owned()),
    }
}
