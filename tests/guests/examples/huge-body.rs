//! Renders 16 MiB in every part.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::Output;
use waxwing_plugin::{CallContext, Failure};

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "huge-body";
}

impl Renderer for Guest {
    const MARK: &'static str = "[huge-body]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let mut output = mail.render(Self::MARK, data)?;
        for body in &mut output.bodies {
            body.text = "x".repeat(16 << 20);
        }
        Ok(output)
    }
}

kit::export!(Guest);
