//! The built-in plugins, as components that the build made and embedded.

use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::kind::Kind;

/// Templates in Liquid.
pub const LIQUID_RENDERER: &[u8] = include_bytes!(env!("WAXWING_LIQUID_RENDERER"));
/// MJML to HTML.
pub const MJML_COMPILER: &[u8] = include_bytes!(env!("WAXWING_MJML_COMPILER"));
/// Free and paid plans.
pub const PLAN_POLICY: &[u8] = include_bytes!(env!("WAXWING_PLAN_POLICY"));
/// Ownership, SPF, DKIM, DMARC and return path.
pub const DOMAIN_POLICY: &[u8] = include_bytes!(env!("WAXWING_DOMAIN_POLICY"));

/// The built-in plugin of a kind.
pub fn artifact(kind: Option<Kind>) -> Option<Artifact> {
    Some(Artifact::builtin(match kind? {
        Kind::Renderer => LIQUID_RENDERER,
        Kind::Domain => DOMAIN_POLICY,
        Kind::Plan => PLAN_POLICY,
        Kind::Mjml => MJML_COMPILER,
    }))
}
