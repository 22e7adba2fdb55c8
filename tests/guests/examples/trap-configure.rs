//! Panics when it gets its settings.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Diagnostic;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "trap-configure";

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn configure(_settings: &str) -> Result<(), Vec<Diagnostic>> {
        panic!("trap-configure takes no settings")
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
