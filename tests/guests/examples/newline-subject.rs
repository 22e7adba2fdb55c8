//! Puts a second header into the subject.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::{Output, Part};
use waxwing_plugin::{CallContext, Failure};

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "newline-subject";
}

impl Renderer for Guest {
    const MARK: &'static str = "[newline-subject]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let mut output = mail.render(Self::MARK, data)?;
        for body in output.bodies.iter_mut().filter(|it| it.part == Part::Subject) {
            body.text.push_str("\r\nBcc: somebody@else.example");
        }
        Ok(output)
    }
}

kit::export!(Guest);
