//! The Rust SDK for Waxwing's plugins: one trait for each kind, one macro that exports it.
//!
//! A plan policy is complete with one type, one method and one line:
//!
//! ```
//! use waxwing_plugin::plan_policy::{Account, Charge, Decision, PlanPolicy, UseRequest};
//! use waxwing_plugin::{CallContext, Failure, Plugin, NoSettings};
//!
//! struct OneCreditEach;
//!
//! impl Plugin for OneCreditEach {
//!     type Settings = NoSettings;
//!     fn configure(_: NoSettings) -> Result<Self, Vec<waxwing_plugin::Diagnostic>> {
//!         Ok(OneCreditEach)
//!     }
//! }
//!
//! impl PlanPolicy for OneCreditEach {
//!     fn check(
//!         &self,
//!         _: &CallContext,
//!         _: &Account,
//!         uses: &[UseRequest],
//!     ) -> Result<Vec<Decision>, Failure> {
//!         Ok(uses
//!             .iter()
//!             .map(|r#use| Decision::Allow(Charge { credits: r#use.recipients, reason: None }))
//!             .collect())
//!     }
//! }
//!
//! waxwing_plugin::export_plan_policy!(OneCreditEach);
//! # fn main() {}
//! ```

pub mod domain_policy;
mod instance;
pub mod plan_policy;
mod plugin;
pub mod renderer;
pub mod testing;

pub use instance::Instance;
pub use plugin::{Manifest, NoSettings, Plugin, SelfTestResult, fault, invalid_input, self_check};
pub use waxwing_world_plan::waxwing::plugin::{host, types};

pub use types::{CallContext, Diagnostic, Failure, Pair, Severity};

/// The generated worlds, for the export macros.
#[doc(hidden)]
pub mod __export {
    pub use waxwing_world_domain as domain;
    pub use waxwing_world_plan as plan;
    pub use waxwing_world_template as template;
}
