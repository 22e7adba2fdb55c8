//! Logs 1,000 lines in every check, `line 1` to `line 1000`.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};
use waxwing_world_plan::waxwing::plugin::host::{Level, log};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "chatty";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        for number in 1..=1000 {
            log(Level::Info, &format!("line {number}"), &[]);
        }
        Ok(uses.iter().map(|it| kit::allow(it, 1, Self::NAME)).collect())
    }
}

kit::export!(Guest);
