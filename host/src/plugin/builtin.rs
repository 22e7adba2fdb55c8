//! The built-in plugins, as components that the build made and embedded.

/// Templates in Liquid.
pub const LIQUID_RENDERER: &[u8] = include_bytes!(env!("WAXWING_LIQUID_RENDERER"));
/// Free and paid plans.
pub const PLAN_POLICY: &[u8] = include_bytes!(env!("WAXWING_PLAN_POLICY"));
/// Ownership, SPF, DKIM, DMARC and return path.
pub const DOMAIN_POLICY: &[u8] = include_bytes!(env!("WAXWING_DOMAIN_POLICY"));
