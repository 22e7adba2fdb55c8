//! Counts under 300 new names in every check, and under one that stays, with a label.

#[path = "../kit/plan.rs"]
mod kit;

use std::sync::atomic::{AtomicU32, Ordering};

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure, Pair};
use waxwing_world_plan::waxwing::plugin::host::count;

use kit::{PlanPolicy, Plugin};

static NAMES: AtomicU32 = AtomicU32::new(0);

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "counts-names";
}

impl PlanPolicy for Guest {
    fn check(
        ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let label = Pair { key: "plan_name".to_owned(), value: "pro \"2\"".to_owned() };
        count("uses_checked", 1, &[label]);
        for _ in 0..300 {
            let number = NAMES.fetch_add(1, Ordering::Relaxed);
            count(&format!("new_{}_{number}", ctx.call_id), 1, &[]);
        }
        Ok(uses.iter().map(|it| kit::allow(it, 1, Self::NAME)).collect())
    }
}

kit::export!(Guest);
