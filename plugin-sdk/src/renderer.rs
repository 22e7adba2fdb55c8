//! Kind 1: turns a template and data into the parts of a message.

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
    /// Every fault at once, with its position.
    fn compile(&self, template: &Template) -> Result<Self::Compiled, Vec<Diagnostic>>;

    /// The variables that the template reads, each path once, in order of first use.
    fn variables(compiled: &Self::Compiled) -> Vec<Variable>;

    /// Renders every part; `data` is JSON text.
    ///
    /// # Errors
    /// [`Failure::InvalidInput`] names every missing required variable, not only the first.
    fn render(compiled: &Self::Compiled, ctx: &CallContext, data: &str) -> Result<Output, Failure>;

    /// Estimated bytes that the compiled template holds.
    fn weight(compiled: &Self::Compiled) -> u32;
}

/// Exports a [`Renderer`] as a component of the world `template-renderer`.
#[macro_export]
macro_rules! export_renderer {
    ($renderer:ty) => {
        const _: () = {
            use world::exports::waxwing::plugin::renderer as wit;
            use $crate::__export::template as world;
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
                        Err(_) => Err(vec![$crate::Diagnostic {
                            severity: $crate::Severity::Error,
                            code: "not_configured".to_owned(),
                            message: "compile was called before `configure`".to_owned(),
                            line: 0,
                            column: 0,
                            snippet: None,
                        }]),
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
    $crate::__export::template::export!(Component with_types_in $crate::__export::template);
        };
    };
}
