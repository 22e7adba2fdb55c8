//! A complete plan policy: what it needs of its author is below, in fewer than 30 lines.

use serde::Deserialize;
use waxwing_plugin::plan_policy::{Account, Decision, PlanPolicy, UseRequest, allow, deny};
use waxwing_plugin::{CallContext, Diagnostic, Plugin};

/// Free accounts have a daily limit; paying ones have a price.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FreeAndPaid {
    /// Recipients a day on a free plan.
    free_daily_limit: u64,
    /// Credits for each recipient of a paying account.
    paid_price: u32,
}

impl Plugin for FreeAndPaid {
    type Settings = Self;
    fn configure(settings: Self) -> Result<Self, Vec<Diagnostic>> {
        Ok(settings)
    }
}

impl PlanPolicy for FreeAndPaid {
    fn decide(&self, _: &CallContext, who: &Account, it: &UseRequest) -> Decision {
        if who.paid {
            allow(it.recipients.saturating_mul(self.paid_price))
        } else if who.sent_last_day < self.free_daily_limit {
            allow(0)
        } else {
            deny("plan-limit", "the free plan's daily limit is reached")
        }
    }
}

waxwing_plugin::export_plan_policy!(FreeAndPaid);
