//! The built-in MJML compiler: mrml behind the interface of a plugin.
//!
//! The MJML of a template has Liquid in it, and mrml reads XML. So each piece of Liquid becomes a
//! word before mrml reads the document, and the words become Liquid again in the HTML
//! (`liquid`, `assembly`). What mrml would drop or compute wrongly without a word is found
//! before (`check`): unknown elements and attributes, Liquid in a width, elements in a wrong
//! place. What has not come back afterwards is named (`compile`).

mod assembly;
mod check;
mod compile;
mod elements;
mod liquid;
mod self_test;
#[cfg(test)]
mod tests;

use waxwing_plugin::mjml_compiler::{Compiled, Document, MjmlCompiler as Compiler};
use waxwing_plugin::{CallContext, Diagnostic, NoSettings, Plugin, SelfTestResult};

#[derive(Debug)]
pub struct MjmlCompiler;

impl Plugin for MjmlCompiler {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }

    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        self_test::run()
    }
}

impl Compiler for MjmlCompiler {
    fn compile(&self, _: &CallContext, it: &Document) -> Result<Compiled, Vec<Diagnostic>> {
        compile::compile(it)
    }
}

waxwing_plugin::export_mjml_compiler!(MjmlCompiler);
