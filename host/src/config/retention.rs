//! `[retention]`: for how long is kept what has been sent.

use serde::{Deserialize, Serialize};

use super::violations::Violations;

/// Whoever wants to keep more than a century says 0.
const MAX_DAYS: u32 = 36_500;

/// `[retention]`. 0 days mean for ever: the disk fills up, then. The ledger is always kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days that the content of a message is kept after its final state: the message itself, and
    /// the conversations of its attempts. Never longer than the message's row.
    pub content_days: u32,
    /// Days that a message's row is kept after its final state, with its events, attempts and
    /// decisions.
    pub message_days: u32,
}

impl Retention {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must(
            self.content_days <= MAX_DAYS,
            "retention.content_days: at most 36500, 0 for ever",
        );
        violations.must(
            self.message_days <= MAX_DAYS,
            "retention.message_days: at most 36500, 0 for ever",
        );
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { content_days: 7, message_days: 90 }
    }
}
