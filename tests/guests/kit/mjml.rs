//! An MJML compiler.

#[path = "plugin.rs"]
mod plugin;

pub use plugin::*;
use waxwing_plugin::mjml_compiler::{Compiled, Document};
use waxwing_plugin::{CallContext, Diagnostic};

/// The interface `mjml-compiler`.
pub trait MjmlCompiler: Plugin {
    fn compile(ctx: &CallContext, document: &Document) -> Result<Compiled, Vec<Diagnostic>>;
}

/// Exports a guest as a component of the world `mjml-compilation`.
macro_rules! export {
    ($guest:ty) => {
        const _: () = {
            use waxwing_world_mjml as world;
            $crate::kit::export_plugin!(world, $guest);

            impl world::exports::waxwing::plugin::mjml_compiler::Guest for Component {
                fn compile(
                    ctx: waxwing_plugin::CallContext,
                    doc: waxwing_plugin::mjml_compiler::Document,
                ) -> Result<
                    waxwing_plugin::mjml_compiler::Compiled,
                    Vec<waxwing_plugin::Diagnostic>,
                > {
                    <$guest as $crate::kit::MjmlCompiler>::compile(&ctx, &doc)
                }
            }

            #[cfg(target_family = "wasm")]
            waxwing_world_mjml::export!(
                Component with_types_in waxwing_world_mjml
            );
        };
    };
}
pub(crate) use export;
