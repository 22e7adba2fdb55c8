//! Describes its settings with what is no JSON Schema.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "bad-schema";

    fn describe() -> Manifest {
        let schema = r#"{"type":"objekt","required":"price","properties":[1,2]}"#;
        kit::manifest(Self::NAME, Self::VERSION, schema)
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
