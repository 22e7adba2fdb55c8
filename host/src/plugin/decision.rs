//! What is recorded of a plugin's decision, for every message and every refusal.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Kind;

/// Which component it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The plugin's name.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// SHA-256 of the component, as `sha256:<hex>`.
    pub digest: String,
    /// The revision of its settings; 0 for none.
    pub settings_revision: u32,
}

/// One decision of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The kind.
    pub kind: Kind,
    /// Which component decided.
    #[serde(flatten)]
    pub identity: Identity,
    /// `allow`, `deny`, `rendered`, `verified`, `failed`, …
    pub verdict: String,
    /// Why, in the plugin's words.
    pub reason: Option<String>,
    /// How long it took.
    pub micros: u64,
}

impl Decision {
    /// A record of what `identity` decided in `took`.
    #[must_use]
    pub fn new(
        kind: Kind,
        identity: &Identity,
        verdict: &str,
        reason: Option<String>,
        took: Duration,
    ) -> Self {
        Self {
            kind,
            identity: identity.clone(),
            verdict: verdict.to_owned(),
            reason,
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}
