//! One decision for each use, in order: the template's plan, then the limits, then the price.

use waxwing_plugin::plan_policy::{Account, Charge, Decision, Denial, UseRequest};

use crate::plans::{Plans, Rank};
use crate::settings::ANY_PAID_PLAN;

/// The windows of the limits slide, and the host gives sums only; so these say when to ask again,
/// not when the send will be possible.
const RETRY_DAILY_S: u32 = 3_600;
const RETRY_MONTHLY_S: u32 = 86_400;

/// Decides every use; what is allowed counts against the limits of those that follow it.
pub fn decide(plans: &Plans, who: &Account, uses: &[UseRequest]) -> Vec<Decision> {
    let rank = plans.rank(who);
    let mut allowed = 0;
    uses.iter()
        .map(|it| match admit(plans, who, &rank, allowed, it) {
            Ok(charge) => {
                allowed += u64::from(it.recipients);
                Decision::Allow(charge)
            }
            Err(denial) => Decision::Deny(denial),
        })
        .collect()
}

fn admit(
    plans: &Plans,
    who: &Account,
    rank: &Rank<'_>,
    allowed: u64,
    r#use: &UseRequest,
) -> Result<Charge, Denial> {
    if let Some(required) = &r#use.template_required_plan
        && !plans.meets(who, rank, required)
    {
        return Err(restricted(plans, who, r#use, required));
    }
    within_limits(who, rank, allowed, r#use.recipients)?;
    price(who, rank, r#use.recipients)
}

fn restricted(plans: &Plans, who: &Account, r#use: &UseRequest, required: &str) -> Denial {
    let what = match &r#use.template_slug {
        Some(slug) => format!("template `{slug}`"),
        None => "this message".to_owned(),
    };
    let needs = if required == ANY_PAID_PLAN {
        "a paid plan".to_owned()
    } else if plans.contains(required) {
        format!("plan `{required}` or a higher one")
    } else {
        format!("plan `{required}`")
    };
    Denial {
        code: "restricted-template".to_owned(),
        message: format!("{what} needs {needs}; this account is on plan `{}`", who.plan),
        required_plan: Some(required.to_owned()),
        retry_after_s: None,
    }
}

/// The longer window first, so that the answer names the longer wait.
fn within_limits(
    who: &Account,
    rank: &Rank<'_>,
    allowed: u64,
    recipients: u32,
) -> Result<(), Denial> {
    let terms = &rank.plan.terms;
    let windows = [
        (terms.monthly_limit, who.sent_last_month, "month", RETRY_MONTHLY_S),
        (terms.daily_limit, who.sent_last_day, "day", RETRY_DAILY_S),
    ];
    for (limit, sent, window, retry) in windows {
        let Some(limit) = limit else { continue };
        let recipients = u64::from(recipients);
        let sent = sent.saturating_add(allowed);
        if sent.saturating_add(recipients) > limit {
            return Err(Denial {
                code: "plan-limit".to_owned(),
                message: format!(
                    "plan `{}` sends to at most {limit} recipients a {window}: {sent} are used and \
                     this message has {recipients}",
                    who.plan
                ),
                required_plan: None,
                // More recipients than the whole limit: no wait helps.
                retry_after_s: (recipients <= limit).then_some(retry),
            });
        }
    }
    Ok(())
}

fn price(who: &Account, rank: &Rank<'_>, recipients: u32) -> Result<Charge, Denial> {
    let each = rank.plan.terms.credits_per_recipient;
    let Some(credits) = each.checked_mul(recipients) else {
        return Err(Denial {
            code: "price-overflow".to_owned(),
            message: format!(
                "{recipients} recipients at {each} credits each exceeds any possible balance"
            ),
            required_plan: None,
            retry_after_s: None,
        });
    };
    let mut reason = rank.plan.reason.clone();
    if !rank.listed {
        reason = format!("{reason}, because plan {} is not in the policy's settings", who.plan);
    }
    Ok(Charge { credits, reason: Some(reason) })
}

#[cfg(test)]
mod tests;
