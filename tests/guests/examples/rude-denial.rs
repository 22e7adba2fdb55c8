//! Denies every use with texts that would break a header, a terminal or a reply line.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, Denial, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "rude-denial";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let denial = Denial {
            code: "rude\r\nX-Injected: 1".to_owned(),
            message: format!("no\r\n250 OK\u{1b}[2J\u{0}\u{202e}{}", "long ".repeat(10_000)),
            required_plan: Some("pro\r\nX-Injected: 1".to_owned()),
            retry_after_s: Some(u32::MAX),
        };
        Ok(uses.iter().map(|_| Decision::Deny(denial.clone())).collect())
    }
}

kit::export!(Guest);
