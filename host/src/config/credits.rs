//! `[credits]`: when an account gets the event that its credits come to an end.

use serde::{Deserialize, Serialize};

use super::violations::Violations;

/// `[credits]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Credits {
    /// The event `credits.low` is written when a balance falls below this.
    pub low: i64,
}

impl Credits {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must(self.low >= 0, "credits.low: at least 0");
    }
}

impl Default for Credits {
    fn default() -> Self {
        Self { low: 100 }
    }
}
