//! The kinds of plugin, each behind one typed call.

pub mod domain;
pub mod mjml;
pub mod plan;
pub mod renderer;
