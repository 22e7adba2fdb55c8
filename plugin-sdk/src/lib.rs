//! The Rust SDK for Waxwing's plugins: a trait for each kind, and a macro that exports it.
//!
//! | kind | trait | macro |
//! |---|---|---|
//! | plan restriction and price | [`plan_policy::PlanPolicy`] | [`export_plan_policy!`] |
//! | domain verification | [`domain_policy::DomainPolicy`] | [`export_domain_policy!`] |
//! | template rendering | [`renderer::Renderer`] | [`export_renderer!`] |
//! | MJML to HTML, at publish | [`mjml_compiler::MjmlCompiler`] | [`export_mjml_compiler!`] |
//!
//! Each kind's module has a worked example. [`PluginSettings`] says how settings are parsed and
//! described, [`log`] has the log macros, and [`testing`] runs a plugin natively under `cargo test`:
//! its golden cases are those of `waxwing plugin test`.
//!
//! A plugin is a `cdylib` for the target `wasm32-wasip2`. It has no files, no network and no clock
//! but [`CallContext`]: the same input gives the same answer. A panic stops the call; its message and
//! place are written to standard error in one line, which the host shows to the operator.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod dns;
pub mod domain_policy;
#[doc(hidden)]
pub mod export;
mod instance;
pub mod log;
pub mod mjml_compiler;
mod panic;
pub mod plan_policy;
mod plugin;
pub mod renderer;
mod settings;
pub mod testing;

pub use instance::Instance;
pub use plugin::{
    Manifest, Plugin, SelfTestResult, fault, fault_at, fault_in_source, invalid_input, self_check,
};
pub use settings::{NoSettings, PluginSettings};
pub use waxwing_world_plan::waxwing::plugin::types;

pub use types::{CallContext, Diagnostic, Failure, Pair, Severity};
use waxwing_world_plan::waxwing::plugin::host;
