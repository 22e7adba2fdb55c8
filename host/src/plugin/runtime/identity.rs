//! Which version of a plugin it was: for records, logs and comparisons.

use serde::{Deserialize, Serialize};

/// Which component it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    #[serde(default)]
    pub slot: String,
    /// The plugin's name.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// SHA-256 of the component, as `sha256:<hex>`.
    pub digest: String,
    /// The revision of its settings; 0 for none.
    pub settings_revision: u32,
}
