//! Good: substitutes `{{ name }}`, and puts `[A]` before every part.

#[path = "../kit/renderer.rs"]
mod kit;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "visible-a";
    const VERSION: &'static str = "1.0.0";
}

impl Renderer for Guest {
    const MARK: &'static str = "[A]";
}

kit::export!(Guest);
