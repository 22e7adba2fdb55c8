//! Kind 1: turns a template and data into the parts of a message.
//!
//! A template is compiled once and rendered many times; a renderer keeps what it needs in
//! [`Renderer::Compiled`]:
//!
//! ```
//! use waxwing_plugin::renderer::{Body, Output, Part, Renderer, Source, Template};
//! use waxwing_plugin::{CallContext, Diagnostic, Failure, NoSettings, Plugin, fault_at};
//!
//! /// Replaces `$name`, and nothing else.
//! struct Dollar;
//!
//! impl Plugin for Dollar {
//!     type Settings = NoSettings;
//!
//!     fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Renderer for Dollar {
//!     type Compiled = Vec<Source>;
//!
//!     fn compile(&self, template: &Template) -> Result<Vec<Source>, Vec<Diagnostic>> {
//!         Ok(template.sources.clone())
//!     }
//!
//!     fn render(sources: &Vec<Source>, _: &CallContext, data: &str) -> Result<Output, Failure> {
//!         let data: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
//!         let Some(name) = data["name"].as_str() else {
//!             let missing = fault_at("name", "missing_variable", "`name` is missing");
//!             return Err(Failure::InvalidInput(vec![missing]));
//!         };
//!         let body =
//!             |it: &Source| Body { part: it.part, text: it.text.replace("$name", name) };
//!         Ok(Output { bodies: sources.iter().map(body).collect(), missing: Vec::new() })
//!     }
//! }
//!
//! waxwing_plugin::export_renderer!(Dollar);
//!
//! # fn main() {
//! use waxwing_plugin::testing::{configured, context, template};
//!
//! let renderer: Dollar = configured("{}").unwrap();
//! let compiled = renderer.compile(&template(&[(Part::Text, "Hi $name")])).unwrap();
//! let output = Dollar::render(&compiled, &context(), r#"{"name":"Ada"}"#).unwrap();
//! assert_eq!(output.bodies[0].text, "Hi Ada");
//! # }
//! ```

use crate::{CallContext, Diagnostic, Failure, Plugin};
pub use waxwing_world_template::exports::waxwing::plugin::renderer::{
    Body, Output, Part, Source, Template, Variable,
};

/// A template language.
pub trait Renderer: Plugin {
    /// A template that is parsed and checked, ready to render many times.
    type Compiled: 'static;

    /// Parses and checks a template.
    ///
    /// # Errors
    /// Every fault at once, with its part, line and column.
    fn compile(&self, template: &Template) -> Result<Self::Compiled, Vec<Diagnostic>>;

    /// The variables that the template reads, each path once, in order of first use; by default
    /// none, so nothing is known before a render.
    #[must_use]
    fn variables(_compiled: &Self::Compiled) -> Vec<Variable> {
        Vec::new()
    }

    /// Renders every part; `data` is JSON text.
    ///
    /// # Errors
    /// [`Failure::InvalidInput`] names every missing required variable, not only the first.
    fn render(compiled: &Self::Compiled, ctx: &CallContext, data: &str) -> Result<Output, Failure>;

    /// Estimated bytes that the compiled template holds; by default 32 KiB.
    #[must_use]
    fn weight(_compiled: &Self::Compiled) -> u32 {
        32 * 1024
    }
}

/// Exports a [`Renderer`] as a component of the world `template-renderer`.
#[macro_export]
macro_rules! export_renderer {
    ($renderer:ty) => {
        #[cfg(not(target_family = "wasm"))]
        impl $crate::testing::Golden for $renderer {
            fn answer(input: &str) -> Result<String, String> {
                $crate::testing::answers::renderer::<Self>(input)
            }
        }

        const _: () = {
            use world::exports::waxwing::plugin::renderer as wit;
            use $crate::export::worlds::template as world;
            $crate::__export_plugin!(world, $renderer);

            type Inner = <$renderer as $crate::renderer::Renderer>::Compiled;

            struct Compiled(Inner);

            impl wit::Guest for Component {
                type Compiled = Compiled;
            }

            impl wit::GuestCompiled for Compiled {
                fn compile(
                    template: wit::Template,
                ) -> Result<wit::Compiled, Vec<$crate::Diagnostic>> {
                    INSTANCE.with(|it| match it.configured() {
                        Ok(it) => $crate::renderer::Renderer::compile(it, &template)
                            .map(|it| wit::Compiled::new(Compiled(it))),
                        Err(_) => Err(vec![$crate::fault(
                            "not_configured",
                            "compile was called before `configure`",
                        )]),
                    })
                }

                fn variables(&self) -> Vec<wit::Variable> {
                    <$renderer as $crate::renderer::Renderer>::variables(&self.0)
                }

                fn render(
                    &self,
                    ctx: $crate::CallContext,
                    data: String,
                ) -> Result<wit::Output, $crate::Failure> {
                    <$renderer as $crate::renderer::Renderer>::render(&self.0, &ctx, &data)
                }

                fn weight(&self) -> u32 {
                    <$renderer as $crate::renderer::Renderer>::weight(&self.0)
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::export::worlds::template::export!(Component with_types_in $crate::export::worlds::template);
        };
    };
}
