//! Fails one of its own two tests.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::{CallContext, SelfTestResult, self_check};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "fails-self-test";

    fn self_test(_ctx: &CallContext) -> Vec<SelfTestResult> {
        let wrong = Err("expected 4 and got 5".to_owned());
        vec![self_check("one is one", Ok(())), self_check("two and two", wrong)]
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
