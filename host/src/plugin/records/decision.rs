//! What is recorded of a plugin's decision, for every message and every refusal.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::sample::Sample;
use crate::plugin::runtime::identity::SharedIdentity;
use crate::plugin::runtime::kind::Kind;

/// One decision of one plugin.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub kind: Kind,
    /// Which component decided.
    #[serde(flatten)]
    pub identity: SharedIdentity,
    /// `allow`, `deny`, `rendered`, `judged`, `invalid`, `failed`, …
    pub verdict: &'static str,
    /// Why, in the plugin's words, or how it failed.
    pub reason: Option<String>,
    /// How long it took.
    pub micros: u64,
    /// What a template printed and the data did not hold, as in `user.name`: it went out blank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blank: Vec<String>,
    /// The locale that a message was rendered in, where its template has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// What went in and came out, where this call is one of the sample.
    #[serde(skip)]
    pub sample: Option<Arc<Sample>>,
}

impl Decision {
    /// A record of what `identity` decided in `took`.
    #[must_use]
    pub fn new(
        kind: Kind,
        identity: &SharedIdentity,
        (verdict, reason): (&'static str, Option<String>),
        took: Duration,
    ) -> Self {
        Self {
            kind,
            identity: identity.clone(),
            verdict,
            reason,
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            blank: Vec::new(),
            locale: None,
            sample: None,
        }
    }
}
