//! Sleeps for an hour in every check.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "sleeps";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        std::thread::sleep(std::time::Duration::from_hours(1));
        Ok(uses.iter().map(|it| kit::allow(it, 1, Self::NAME)).collect())
    }
}

kit::export!(Guest);
