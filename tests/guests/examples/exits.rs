//! Ends its process in every check, with success.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "exits";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        _uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        std::process::exit(0)
    }
}

kit::export!(Guest);
