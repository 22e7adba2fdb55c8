//! Has control characters in its name, its version and its summary.

#[path = "../kit/plan.rs"]
mod kit;

use waxwing_plugin::Manifest;

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "control-texts";

    fn describe() -> Manifest {
        let name = "control\r\ntexts\u{1b}[31m\u{0}";
        let manifest = kit::manifest(name, "1.0\n.0\u{7}", r#"{"type":"object"}"#);
        Manifest {
            summary: "over\u{202e}turned\r\nnext: line\u{1b}]0;title\u{7}".to_owned(),
            ..manifest
        }
    }
}

impl PlanPolicy for Guest {}

kit::export!(Guest);
