//! A renderer; without a word of its own it substitutes `{{ name }}` and leaves a mark in each part.

#[path = "plugin.rs"]
mod plugin;
#[path = "substitution.rs"]
mod substitution;

pub use plugin::*;
pub use substitution::Mail;
use waxwing_plugin::renderer::{Output, Template, Variable};
use waxwing_plugin::{CallContext, Diagnostic, Failure};

/// The interface `renderer`.
pub trait Renderer: Plugin {
    /// What stands before the text of every part.
    const MARK: &'static str;

    /// Takes a template.
    fn compile(template: Template) -> Result<Mail, Vec<Diagnostic>> {
        Ok(Mail::new(template))
    }

    /// The variables that the template reads.
    fn variables(mail: &Mail) -> Vec<Variable> {
        mail.variables()
    }

    /// Renders every part.
    fn render(mail: &Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        mail.render(Self::MARK, data)
    }

    /// The bytes that the template holds.
    fn weight(mail: &Mail) -> u32 {
        mail.weight()
    }

    /// What happens when the host is done with a compiled template.
    fn drop(_mail: &mut Mail) {}
}

/// Exports a guest as a component of the world `template-renderer`.
macro_rules! export {
    ($guest:ty) => {
        const _: () = {
            use waxwing_world_template as world;
            use world::exports::waxwing::plugin::renderer as wit;
            $crate::kit::export_plugin!(world, $guest);

            struct Compiled($crate::kit::Mail);

            impl Drop for Compiled {
                fn drop(&mut self) {
                    <$guest as $crate::kit::Renderer>::drop(&mut self.0);
                }
            }

            impl wit::Guest for Component {
                type Compiled = Compiled;
            }

            impl wit::GuestCompiled for Compiled {
                fn compile(
                    template: wit::Template,
                ) -> Result<wit::Compiled, Vec<waxwing_plugin::Diagnostic>> {
                    <$guest as $crate::kit::Renderer>::compile(template)
                        .map(|it| wit::Compiled::new(Compiled(it)))
                }

                fn variables(&self) -> Vec<wit::Variable> {
                    <$guest as $crate::kit::Renderer>::variables(&self.0)
                }

                fn render(
                    &self,
                    ctx: waxwing_plugin::CallContext,
                    data: String,
                ) -> Result<wit::Output, waxwing_plugin::Failure> {
                    <$guest as $crate::kit::Renderer>::render(&self.0, &ctx, &data)
                }

                fn weight(&self) -> u32 {
                    <$guest as $crate::kit::Renderer>::weight(&self.0)
                }
            }

            #[cfg(target_family = "wasm")]
            waxwing_world_template::export!(
                Component with_types_in waxwing_world_template
            );
        };
    };
}
pub(crate) use export;
