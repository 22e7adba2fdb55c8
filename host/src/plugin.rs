//! The plugin host: four kinds of WebAssembly component, each behind one typed call.
//!
//! A plugin has no file, socket, clock or secret. It cannot stop, stall, grow or crash the server;
//! its failure is a [`CallFailure`], which the journey turns into a refusal. There is no native
//! fall-back. Which plugin answers which call at one moment is a [`table::Table`], swapped as a
//! whole; the [`supervisor::SlotSupervisor`] is the only one that swaps it.
//!
//! The rooms below import downwards only: `slots`, `promotion`, `records`, `kinds`, `config`, `runtime`.
//! What is named outside of them is re-exported here.

mod config;
mod kinds;
mod promotion;
pub mod records;
mod runtime;
mod slots;

pub use config::{binding, slot};
pub use kinds::{domain, mjml, plan, renderer};
pub use promotion::error::{LoadError, ReadError};
pub use promotion::{
    builtin_cases, comparison, evidence, golden_cases, impact, installed, measure, shadow,
    validation,
};
pub use records::{decision, sample};
pub use runtime::artifact::Artifact;
pub use runtime::bindings::types::{CallContext, Diagnostic, Pair, Severity};
pub use runtime::error::{CallFailure, ComponentError};
pub use runtime::kind::Kind;
pub use runtime::limits::{CallLimits, Limits};
pub use runtime::log::{CallPurpose, Line};
pub use runtime::pool::Instances;
pub use runtime::stage::{Progress, Stage};
pub use runtime::world::Manifest;
pub use runtime::{compiler, inspect, signature};
pub use slots::plugins::Plugins;
pub use slots::start::{Options, PluginsError};
pub use slots::{files, shared, status, supervisor, table};

#[cfg(test)]
pub(crate) mod tests;
