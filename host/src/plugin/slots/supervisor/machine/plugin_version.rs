//! A generation with what it takes to make it again.

use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::Report;
use crate::plugin::slots::state::Stored;

/// A generation that runs or ran.
#[derive(Debug, Clone)]
pub struct PluginVersion {
    pub plugin: InstalledPlugin,
    /// What it takes to make it again.
    pub stored: Stored,
    /// What came of its calls in the shadow, where it had some.
    pub shadow: Option<Report>,
}
