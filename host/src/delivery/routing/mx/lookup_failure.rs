//! Why a domain has no host to try.

use crate::delivery::outcome::FailureReason;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupFailure {
    /// The domain accepts no mail, or not from here.
    Permanent { failure: FailureReason, reason: String },
    /// The domain cannot be resolved now.
    Temporary { reason: String },
}

impl LookupFailure {
    pub fn permanent(failure: FailureReason, reason: String) -> Self {
        Self::Permanent { failure, reason }
    }

    pub fn temporary(reason: String) -> Self {
        Self::Temporary { reason }
    }

    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Permanent { reason, .. } | Self::Temporary { reason } => reason,
        }
    }
}
