//! The built-in renderer: the Liquid engine of `plugins/liquid` behind the interface of a plugin.

mod convert;
mod self_test;
mod settings;
#[cfg(test)]
mod tests;

use waxwing_liquid::{Compiled, Locale};
use waxwing_plugin::renderer::{Output, Renderer, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

pub use settings::{Settings, Undefined};

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
        self_test::run(ctx.now_unix_ms)
    }
}

impl Renderer for LiquidRenderer {
    type Compiled = Compiled;

    fn compile(&self, template: &Template) -> Result<Compiled, Vec<Diagnostic>> {
        Compiled::new(&convert::template(template), self.settings.undefined.into())
            .map_err(convert::diagnostics)
    }

    fn variables(compiled: &Compiled) -> Vec<Variable> {
        let variables = compiled.variables().into_iter();
        variables.map(|it| Variable { path: it.path, required: it.required }).collect()
    }

    fn render(compiled: &Compiled, ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let output = match &ctx.locale {
            Some(tag) => compiled.render_in(&Locale::new(tag), ctx.now_unix_ms, data),
            None => compiled.render(ctx.now_unix_ms, data),
        };
        output.map(convert::output).map_err(convert::failure)
    }

    fn weight(compiled: &Compiled) -> u32 {
        compiled.weight()
    }
}

waxwing_plugin::export_renderer!(LiquidRenderer);
