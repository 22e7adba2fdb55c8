//! Good: substitutes `{{ name }}`, and puts `[B]` before every part.

#[path = "../kit/renderer.rs"]
mod kit;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "visible-b";
    const VERSION: &'static str = "2.0.0";
}

impl Renderer for Guest {
    const MARK: &'static str = "[B]";
}

kit::export!(Guest);
