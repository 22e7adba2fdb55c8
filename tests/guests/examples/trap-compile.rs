//! Panics when it compiles a template.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::Diagnostic;
use waxwing_plugin::renderer::Template;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "trap-compile";
}

impl Renderer for Guest {
    const MARK: &'static str = "[trap-compile]";

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn compile(_template: Template) -> Result<kit::Mail, Vec<Diagnostic>> {
        panic!("trap-compile compiles nothing")
    }
}

kit::export!(Guest);
