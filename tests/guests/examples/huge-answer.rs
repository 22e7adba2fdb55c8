//! Answers 1 MiB to every check.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "huge-answer";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let reason = "x".repeat(1 << 20);
        Ok(uses.iter().map(|it| kit::allow(it, 1, &reason)).collect())
    }
}

kit::export!(Guest);
