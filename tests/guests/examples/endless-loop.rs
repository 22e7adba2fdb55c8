//! Never comes back from a check.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "endless-loop";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let mut turns = uses.len();
        while std::hint::black_box(turns) != usize::MAX {
            turns = turns.wrapping_add(1) / 2;
        }
        Ok(Vec::new())
    }
}

kit::export!(Guest);
