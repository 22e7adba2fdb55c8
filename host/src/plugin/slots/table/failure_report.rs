//! Calls without an answer, and where they are reported.

use tokio::sync::mpsc;

use crate::plugin::kinds::renderer;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::records::Call;
use crate::plugin::runtime::bindings::types::Failure;
use crate::plugin::runtime::error::{CallFailure, list};
use crate::plugin::runtime::identity::Identity;
use crate::plugin::runtime::log::printable;

/// Where traps are reported, and how often a call is recorded.
#[derive(Debug, Clone)]
pub struct TrapSink {
    /// Calls without an answer, for the rule of rolling back.
    pub traps: mpsc::Sender<FailureReport>,
    /// Every how many calls one is recorded; 0 for none.
    pub sample_every: u64,
}

/// A call without an answer.
#[derive(Debug)]
pub struct FailureReport {
    pub plugin: InstalledPlugin,
    /// The input, by its hash.
    pub input: u64,
    /// What went in.
    pub call: Call,
    pub failure: CallFailure,
    /// How many calls of this generation were before it.
    pub calls_before: u64,
    /// The published template version that was rendered, if any: its example helps to find who is to blame.
    pub version: Option<Version>,
}

/// A published version of a template, and what it renders well.
#[derive(Debug, Clone)]
pub struct Version {
    pub key: renderer::VersionKey,
    /// Its example data, as JSON text.
    pub example: String,
}

/// The plugin said itself that it cannot decide.
pub fn gave_up(identity: &Identity, call: &'static str, failure: &Failure) -> CallFailure {
    let detail = match failure {
        Failure::InvalidInput(faults) | Failure::Misconfigured(faults) => list(faults),
        Failure::Internal(detail) => printable(detail),
    };
    CallFailure::GaveUp { plugin: identity.name.clone(), call, detail }
}
