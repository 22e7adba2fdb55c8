//! Panics on one input only: the template `poison`, or a recipient at `poison.example`.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "panic-on-poison";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        for it in uses {
            let slug = it.template_slug.as_deref();
            assert!(slug != Some("poison"), "poisoned by the template");
            assert!(it.recipient_domain != "poison.example", "poisoned by the recipient");
        }
        Ok(uses.iter().map(|it| kit::allow(it, 1, Self::NAME)).collect())
    }
}

kit::export!(Guest);
