//! Reads a file in every check.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "reads-file";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let text =
            std::fs::read("/etc/hostname").map_err(|error| Failure::Internal(error.to_string()))?;
        let reason = String::from_utf8_lossy(&text);
        Ok(uses.iter().map(|it| kit::allow(it, 1, &reason)).collect())
    }
}

kit::export!(Guest);
