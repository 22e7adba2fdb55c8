//! Makes its table of functions grow in every check, until there is no more.
//!
//! Rust has no word for `table.grow`. This grows its memory by a number that stands nowhere else,
//! and `waxwing_guests::table_bomb` writes the other instruction over it.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "table-bomb";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let mut times = 0_u32;
        while grow() != usize::MAX {
            times += 1;
        }
        let reason = format!("the table grew {times} times by 1000");
        Ok(uses.iter().map(|it| kit::allow(it, 1, &reason)).collect())
    }
}

#[cfg(target_family = "wasm")]
fn grow() -> usize {
    core::arch::wasm32::memory_grow::<0>(0x1234_5678)
}

#[cfg(not(target_family = "wasm"))]
fn grow() -> usize {
    usize::MAX
}

kit::export!(Guest);
