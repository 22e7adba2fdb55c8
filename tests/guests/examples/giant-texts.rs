//! Has a name, a version and a summary of 1 MB each.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "giant-texts";

    fn describe() -> Manifest {
        let long = |text: &str| text.repeat(1 << 20);
        let manifest = kit::manifest(&long("n"), &long("1"), "{}");
        Manifest { summary: long("s"), ..manifest }
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
