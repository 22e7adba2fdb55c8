//! The built-in template language: Liquid, escaped for HTML, with its variables known beforehand.
//!
//! A template is parsed once and rendered many times; a render is deterministic, reads no clock and
//! never parses. Faults of a template and of data are diagnostics, never a trap.

#[macro_use]
mod put;

mod ast;
mod check;
mod compile;
mod fault;
mod filters;
mod json;
mod loops;
mod machine;
mod mode;
mod parse;
mod plaintext;
mod render;
mod self_test;
mod settings;
mod tidy;
mod unit;
mod value;
mod variables;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use waxwing_plugin::renderer::{Output, Renderer, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

pub use compile::Compiled;
pub use settings::{Settings, Undefined};

/// The plugin.
#[derive(Debug)]
pub struct LiquidRenderer {
    settings: Settings,
}

impl Plugin for LiquidRenderer {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { settings })
    }

    fn self_test(&self, ctx: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(ctx)
    }
}

impl Renderer for LiquidRenderer {
    type Compiled = Compiled;

    fn compile(&self, template: &Template) -> Result<Compiled, Vec<Diagnostic>> {
        Compiled::new(template, self.settings)
    }

    fn variables(compiled: &Compiled) -> Vec<Variable> {
        compiled
            .uses
            .iter()
            .map(|it| Variable {
                path: it.path(),
                required: it.required && compiled.undefined == Undefined::Required,
            })
            .collect()
    }

    fn render(compiled: &Compiled, ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        render::render(compiled, ctx, data)
    }

    fn weight(compiled: &Compiled) -> u32 {
        compiled.weight()
    }
}

waxwing_plugin::export_renderer!(LiquidRenderer);
