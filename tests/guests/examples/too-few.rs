//! Answers no decision at all.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "too-few";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        _uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        Ok(Vec::new())
    }
}

kit::export!(Guest);
