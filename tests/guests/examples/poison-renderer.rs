//! Panics when it renders a template or data whose text has `POISON`.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::Output;
use waxwing_plugin::{CallContext, Failure};

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "poison-renderer";
}

impl Renderer for Guest {
    const MARK: &'static str = "[poison-renderer]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let poisoned = mail.sources.iter().any(|it| it.text.contains("POISON"));
        assert!(!poisoned, "poisoned by the template");
        assert!(!data.contains("POISON"), "poisoned by the data");
        mail.render(Self::MARK, data)
    }
}

kit::export!(Guest);
