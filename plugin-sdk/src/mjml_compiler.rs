//! Kind 4: turns the MJML of a template into HTML when the template is published.
//!
//! The template language in the MJML is not this plugin's to read; what it leaves in the HTML, the
//! renderer reads:
//!
//! ```
//! use waxwing_plugin::mjml_compiler::{Compiled, Document, MjmlCompiler};
//! use waxwing_plugin::{CallContext, Diagnostic, NoSettings, Plugin, fault};
//!
//! /// Knows one element.
//! struct OnlyText;
//!
//! impl Plugin for OnlyText {
//!     type Settings = NoSettings;
//!
//!     fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl MjmlCompiler for OnlyText {
//!     fn compile(&self, _: &CallContext, it: &Document) -> Result<Compiled, Vec<Diagnostic>> {
//!         if it.source.contains("<mj-section") {
//!             return Err(vec![fault("unknown_element", "only `<mj-text>` is known")]);
//!         }
//!         let html = it.source.replace("mj-text", "p");
//!         Ok(Compiled { html, preheader: None, warnings: Vec::new() })
//!     }
//! }
//!
//! waxwing_plugin::export_mjml_compiler!(OnlyText);
//!
//! # fn main() {
//! use waxwing_plugin::testing::{configured, context};
//!
//! let compiler: OnlyText = configured("{}").unwrap();
//! let source = "<mj-text>Hi {{ name }}</mj-text>".to_owned();
//! let document = Document { source, includes: Vec::new() };
//! let compiled = compiler.compile(&context(), &document).unwrap();
//! assert_eq!(compiled.html, "<p>Hi {{ name }}</p>");
//! # }
//! ```

use crate::{CallContext, Diagnostic, Plugin};
pub use waxwing_world_mjml::exports::waxwing::plugin::mjml_compiler::{Compiled, Document};

/// A compiler from MJML to HTML. Pure: the same input, the same answer.
pub trait MjmlCompiler: Plugin {
    /// Compiles a document with what it includes.
    ///
    /// # Errors
    /// Every fault at once, with its part (`mjml`, or `include:footer`), line and column.
    fn compile(&self, ctx: &CallContext, it: &Document) -> Result<Compiled, Vec<Diagnostic>>;
}

/// Exports an [`MjmlCompiler`] as a component of the world `mjml-compilation`.
#[macro_export]
macro_rules! export_mjml_compiler {
    ($compiler:ty) => {
        #[cfg(not(target_family = "wasm"))]
        impl $crate::testing::Golden for $compiler {
            fn answer(input: &str) -> Result<String, String> {
                $crate::testing::answers::mjml::<Self>(input)
            }
        }

        const _: () = {
            use world::exports::waxwing::plugin::mjml_compiler as wit;
            use $crate::export::worlds::mjml as world;
            $crate::__export_plugin!(world, $compiler);

            impl wit::Guest for Component {
                fn compile(
                    ctx: $crate::CallContext,
                    it: wit::Document,
                ) -> Result<wit::Compiled, Vec<$crate::Diagnostic>> {
                    INSTANCE.with(|plugin| match plugin.configured() {
                        Ok(plugin) => {
                            $crate::mjml_compiler::MjmlCompiler::compile(plugin, &ctx, &it)
                        }
                        Err(_) => Err(vec![$crate::fault(
                            "not_configured",
                            "compile was called before `configure`",
                        )]),
                    })
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::export::worlds::mjml::export!(Component with_types_in $crate::export::worlds::mjml);
        };
    };
}
