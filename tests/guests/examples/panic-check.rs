//! Panics in every check.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "panic-check";
}

impl PlanPolicy for Guest {
    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        _uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        panic!("panic-check always panics")
    }
}

kit::export!(Guest);
