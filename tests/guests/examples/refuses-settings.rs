//! Test plugin: `configure` always fails, with two diagnostics.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::{Diagnostic, fault};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "refuses-settings";

    fn configure(_settings: &str) -> Result<(), Vec<Diagnostic>> {
        Err(vec![fault("first", "the first fault"), fault("second", "the second fault")])
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
