//! Makes handles of compiled templates in every render, and never drops one. They take no memory of
//! the guest: they are the host's.

#[path = "../kit/renderer.rs"]
mod kit;

use waxwing_plugin::renderer::{Output, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure};
use waxwing_world_template::exports::waxwing::plugin::renderer as wit;

use kit::{Plugin, Renderer};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "handle-bomb";
}

impl Renderer for Guest {
    const MARK: &'static str = "[handle-bomb]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        while handle() != 0 {}
        mail.render(Self::MARK, data)
    }
}

#[expect(unsafe_code, reason = "a handle without a template behind it")]
fn handle() -> u32 {
    // SAFETY: the host never hands this handle back, so nothing reads what it stands for.
    unsafe { <Nothing as wit::GuestCompiled>::_resource_new(std::ptr::null_mut()) }
}

/// Only there because a handle belongs to a type.
struct Nothing;

impl wit::GuestCompiled for Nothing {
    fn compile(_template: Template) -> Result<wit::Compiled, Vec<Diagnostic>> {
        Err(Vec::new())
    }

    fn variables(&self) -> Vec<Variable> {
        Vec::new()
    }

    fn render(&self, _ctx: CallContext, _data: String) -> Result<Output, Failure> {
        Err(Failure::Internal(String::new()))
    }

    fn weight(&self) -> u32 {
        0
    }
}

kit::export!(Guest);
