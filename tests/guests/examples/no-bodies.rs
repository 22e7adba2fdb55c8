//! Renders nothing, and says that all went well.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::Output;
use waxwing_plugin::{CallContext, Failure};

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "no-bodies";
}

impl Renderer for Guest {
    const MARK: &'static str = "[no-bodies]";

    fn render(_mail: &kit::Mail, _ctx: &CallContext, _data: &str) -> Result<Output, Failure> {
        Ok(Output { bodies: Vec::new(), missing: Vec::new() })
    }
}

kit::export!(Guest);
