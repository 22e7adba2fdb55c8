//! Never frees a compiled template: each costs 256 KiB for ever.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::Diagnostic;
use waxwing_plugin::renderer::Template;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "leaks";
}

impl Renderer for Guest {
    const MARK: &'static str = "[leaks]";

    fn compile(template: Template) -> Result<kit::Mail, Vec<Diagnostic>> {
        std::hint::black_box(vec![1_u8; 256 << 10].leak());
        Ok(kit::Mail::new(template))
    }

    fn drop(mail: &mut kit::Mail) {
        std::hint::black_box(std::mem::take(&mut mail.sources).leak());
    }
}

kit::export!(Guest);
