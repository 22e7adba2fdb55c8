//! Why a domain has no host to try.

use std::time::Duration;

use crate::delivery::outcome::FailureReason;

/// Caps of the TTL of hosts, whatever their records say.
pub const MAX_TTL: Duration = Duration::from_hours(1);

/// Why a domain has no host to try.
#[derive(Debug)]
pub enum NoHosts {
    PermanentFailure { failure: FailureReason, reason: String },
    TemporaryFailure { reason: String },
}

impl NoHosts {
    pub fn permanent(failure: FailureReason, reason: String) -> Self {
        Self::PermanentFailure { failure, reason }
    }

    pub fn temporary(reason: String) -> Self {
        Self::TemporaryFailure { reason }
    }
}
