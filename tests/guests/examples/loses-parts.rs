//! Renders a part only where nothing is to be filled in: good in the built-in case, and in no mail.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::{Output, Part};
use waxwing_plugin::{CallContext, Failure};

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "loses-parts";
}

impl Renderer for Guest {
    const MARK: &'static str = "[loses-parts]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let mut output = mail.render(Self::MARK, data)?;
        let plain = !mail.sources.iter().any(|it| it.text.contains("{{"));
        output.bodies.retain(|it| plain || it.part == Part::Subject);
        Ok(output)
    }
}

kit::export!(Guest);
