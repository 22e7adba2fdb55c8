//! The stages of a component's validation, from its files to its activation.

use super::error::ComponentError;

/// A component's validation stage.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its files are still being written.
    Settling,
    /// It is parsed: its kind, its interface version, its imports.
    Inspecting,
    /// It is turned into machine code.
    Compiling,
    /// Its types are checked against the interface.
    Linking,
    /// Its settings are checked, by its own schema and by itself.
    Configuring,
    /// Its own test, the operator's cases and the built-in cases run.
    Testing,
    /// Recorded calls are made to it.
    Impact,
    /// Live calls are made to it too.
    Shadow,
    /// The operator is to decide.
    Waiting,
    /// All nodes load it; then it is active on all of them.
    Loading,
}

/// Called as each stage begins; returns false to end the work, because a newer file came.
pub type Progress<'a> = &'a (dyn Fn(Stage) -> bool + Send + Sync);

/// Begins a stage, unless a newer file came.
pub fn enter(progress: Progress<'_>, stage: Stage) -> Result<(), ComponentError> {
    if progress(stage) { Ok(()) } else { Err(ComponentError::Superseded) }
}
