//! Takes memory in every check until there is no more.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "memory-bomb";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let mut hoard: Vec<Vec<u8>> = Vec::new();
        while std::hint::black_box(&hoard).len() <= uses.len() << 24 {
            hoard.push(vec![1; 1 << 20]);
        }
        Ok(Vec::new())
    }
}

kit::export!(Guest);
