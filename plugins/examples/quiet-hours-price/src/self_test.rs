//! Checks over the operator's own settings, through the code that decides real sends.

use waxwing_plugin::plan_policy::{Decision, PlanPolicy, UseRequest};
use waxwing_plugin::testing::{account, template_use};
use waxwing_plugin::{CallContext, SelfTestResult, self_check};

use crate::QuietHoursPrice;
use crate::price;

/// Every check; the host activates the policy only if all pass.
pub fn run(policy: &QuietHoursPrice, ctx: &CallContext) -> Vec<SelfTestResult> {
    vec![
        self_check("bulk mail waits for the end of the quiet hours", bulk(policy, ctx)),
        self_check("urgent mail is sent in quiet hours", urgent(policy, ctx)),
        self_check("one recipient costs the first price or the further one", prices(policy)),
    ]
}

fn bulk(policy: &QuietHoursPrice, ctx: &CallContext) -> Result<(), String> {
    match decide(policy, ctx, Vec::new()) {
        None => Ok(()),
        Some(Decision::Deny(it)) if it.code == "quiet-hours" && it.retry_after_s.is_some() => {
            Ok(())
        }
        Some(other) => Err(format!("{other:?}")),
    }
}

fn urgent(policy: &QuietHoursPrice, ctx: &CallContext) -> Result<(), String> {
    for tag in &policy.settings.urgent_tags {
        if let Some(Decision::Deny(it)) = decide(policy, ctx, vec![tag.clone()])
            && it.code == "quiet-hours"
        {
            return Err(format!("a template with the tag `{tag}` is denied"));
        }
    }
    Ok(())
}

fn prices(policy: &QuietHoursPrice) -> Result<(), String> {
    let settings = &policy.settings;
    let first =
        if settings.first_recipients == 0 { settings.further_price } else { settings.first_price };
    let found = [0, u64::MAX].map(|sent| price::credits(settings, sent, 1));
    let expected = [Some(first), Some(settings.further_price)];
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

/// The decision in the first moment of the quiet hours; none if there are none.
fn decide(policy: &QuietHoursPrice, ctx: &CallContext, tags: Vec<String>) -> Option<Decision> {
    let now_unix_ms = policy.settings.quiet_hours?.start_ms();
    let ctx = CallContext { now_unix_ms, ..ctx.clone() };
    let one = UseRequest { template_tags: tags, ..template_use("self-test", None) };
    Some(policy.decide(&ctx, &account("free"), &one))
}
