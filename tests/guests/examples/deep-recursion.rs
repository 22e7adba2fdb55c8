//! Calls itself in every check until the stack ends.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "deep-recursion";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let price = deeper(u32::MAX - 1);
        Ok(uses.iter().map(|it| kit::allow(it, price, Self::NAME)).collect())
    }
}

fn deeper(levels: u32) -> u32 {
    if std::hint::black_box(levels) == 0 { 1 } else { deeper(levels - 1) ^ levels }
}

kit::export!(Guest);
