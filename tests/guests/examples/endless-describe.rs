//! Never comes back from the first call that is made to it.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "endless-describe";

    fn describe() -> Manifest {
        let mut turns = 1_usize;
        while std::hint::black_box(turns) != usize::MAX {
            turns = turns.wrapping_add(1) / 2;
        }
        kit::manifest(Self::NAME, Self::VERSION, "{}")
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
