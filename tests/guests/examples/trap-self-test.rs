//! Panics in its own test.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::{CallContext, SelfTestResult};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "trap-self-test";

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn self_test(_ctx: &CallContext) -> Vec<SelfTestResult> {
        panic!("trap-self-test cannot be tested")
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
