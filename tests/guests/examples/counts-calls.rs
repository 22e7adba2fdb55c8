//! Counts its calls, and from the 200th of an instance on charges twice as much.

#[path = "../kit/plan.rs"]
mod kit;

use std::sync::atomic::{AtomicU32, Ordering};

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

static CALLS: AtomicU32 = AtomicU32::new(0);

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "counts-calls";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let price = if CALLS.fetch_add(1, Ordering::Relaxed) < 200 { 1 } else { 2 };
        Ok(uses.iter().map(|it| kit::allow(it, price, Self::NAME)).collect())
    }
}

kit::export!(Guest);
