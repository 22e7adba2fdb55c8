//! A renderer for another template language: Jinja, by `minijinja`.
//!
//! It does all that the built-in renderer of Liquid does: the HTML part is escaped (`template`), a
//! text is made of the HTML where there is none, the variables are known before a render
//! (`variables`), and data that lack required ones are refused with all of them at once (`data`).

mod data;
mod faults;
mod self_test;
mod template;
#[cfg(test)]
mod tests;
mod variables;

use waxwing_plugin::renderer::{Output, Renderer, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure, NoSettings, Plugin, SelfTestResult};

use template::Compiled;

pub struct MinijinjaRenderer;

impl Plugin for MinijinjaRenderer {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }

    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        self_test::run()
    }
}

impl Renderer for MinijinjaRenderer {
    type Compiled = Compiled;

    fn compile(&self, template: &Template) -> Result<Compiled, Vec<Diagnostic>> {
        Compiled::new(template)
    }

    fn variables(compiled: &Compiled) -> Vec<Variable> {
        compiled.variables().to_vec()
    }

    fn render(compiled: &Compiled, _: &CallContext, data: &str) -> Result<Output, Failure> {
        compiled.render(data)
    }

    fn weight(compiled: &Compiled) -> u32 {
        compiled.weight()
    }
}

waxwing_plugin::export_renderer!(MinijinjaRenderer);
