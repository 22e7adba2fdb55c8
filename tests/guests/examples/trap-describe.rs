//! Panics when it is asked for its name.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "trap-describe";

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn describe() -> Manifest {
        panic!("trap-describe has no name")
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
