//! Answers the built-in cases, and gives up on every call for a message.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "gives-up";
}

impl PlanPolicy for Guest {
    fn check(
        ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        if !ctx.dry_run {
            return Err(Failure::Internal("its price list is lost".to_owned()));
        }
        Ok(uses.iter().map(|it| kit::allow(it, 1, Self::NAME)).collect())
    }
}

kit::export!(Guest);
