//! Panics when the host is done with a compiled template.

#[path = "../kit/renderer.rs"]
mod kit;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "trap-drop";
}

impl Renderer for Guest {
    const MARK: &'static str = "[trap-drop]";

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn drop(_mail: &mut kit::Mail) {
        panic!("trap-drop never lets go")
    }
}

kit::export!(Guest);
