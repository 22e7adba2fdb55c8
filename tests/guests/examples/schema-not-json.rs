//! Describes its settings with what is no JSON.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "schema-not-json";

    fn describe() -> Manifest {
        kit::manifest(Self::NAME, Self::VERSION, "price: integer")
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
