//! What an operator may write under `settings`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a DMARC record must ask of receivers.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// The mildest policy that is accepted.
    pub policy: MinimumPolicy,
    /// How exactly the domain in `From` must be the one that is signed and the one of the bounces.
    pub alignment: Alignment,
}

/// The mildest policy that is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MinimumPolicy {
    /// Forged mail is refused.
    #[default]
    Reject,
    /// Forged mail goes to the junk folder, or is refused.
    Quarantine,
}

/// How exactly domains must agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// The same domain: `adkim=s` and `aspf=s`.
    #[default]
    Strict,
    /// The same organizational domain is enough.
    Relaxed,
}
