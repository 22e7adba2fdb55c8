//! The MJML compiler: what HTML is a template's MJML? Asked when a template is published, never for a send.

use crate::plugin::runtime::bindings::mjml::MjmlCompilation;
use crate::plugin::runtime::bindings::mjml::exports::waxwing::plugin::mjml_compiler as wit;
use crate::plugin::runtime::bindings::types::{CallContext, Failure};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::generation::Generation;
use crate::plugin::runtime::instance::Budget;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::CallPurpose;
use crate::plugin::runtime::pool::Instances;
use crate::plugin::runtime::pool::Pool;

pub use wit::{Compiled, Document};

/// A generation of an MJML compiler.
#[derive(Debug)]
pub struct MjmlCompiler(Pool<MjmlCompilation>);

impl MjmlCompiler {
    pub(in crate::plugin) const KIND: Kind = Kind::Mjml;

    pub(in crate::plugin) fn new(
        generation: Generation<MjmlCompilation>,
        instances: Instances,
    ) -> Self {
        Self(Pool::new(generation, instances))
    }

    pub(in crate::plugin) fn generation(&self) -> &Generation<MjmlCompilation> {
        self.0.generation()
    }

    /// The HTML of a document. Faults of the document are `misconfigured`, as those of a template are.
    pub(in crate::plugin) async fn compile(
        &self,
        ctx: &CallContext,
        document: &Document,
    ) -> Result<Result<Compiled, Failure>, CallFailure> {
        let purpose = CallPurpose::of(ctx);
        let mut borrowed = self.0.borrow(purpose).await?;
        let instance = borrowed.instance();
        instance.arm(Budget::Prepare, (&ctx.call_id, purpose));
        let cpu = instance.cpu();
        let (world, store) = instance.parts();
        let call = world.waxwing_plugin_mjml_compiler().call_compile(store, ctx, document);
        let called = cpu.of(call).await;
        let answer = instance.outcome("compile", Budget::Prepare, called)?;
        borrowed.give_back();
        Ok(answer.map_err(Failure::Misconfigured))
    }
}
