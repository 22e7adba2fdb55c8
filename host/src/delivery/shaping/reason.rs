//! Why admission gives a due message no slot, and when to ask again.

use std::time::Duration;

use crate::delivery::outcome::Backoff;

/// Every reason why admission lets a due message wait. That is no attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Delivery backs off from the hosts, for all mail or for this account's.
    BackOff(Backoff),
    /// The hosts have no good record yet, or a back-off from them has just ended: one probe at a time.
    Probing,
    /// All slots of the destination are in use.
    DestinationFull,
    /// The messages a minute of the destination are used up until that time has passed.
    RateLimit(Duration),
    /// The same for the operator of the first host, which is not the destination's only one.
    OperatorRateLimit(Duration),
    /// As many large messages to the destination are under way as may be.
    LargeMessages,
    /// No memory is free for a message of this size.
    Memory,
    /// The hosts have no good record yet, and the attempts for such hosts are used up, in all or for
    /// this account.
    Probation,
    /// The domain's MX is being looked up, or waits until the account has a lookup free.
    Lookup,
    /// All attempts of the server are under way.
    NoFreeAttempt,
}

/// Whether a message goes, or somebody only asks whether one could: that leaves no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Start,
    Look,
}

/// How soon a slot is requested again while a probe is under way.
const PROBE_WAIT: Duration = Duration::from_millis(500);

impl Reason {
    /// How soon a slot may be free. None where that is not known here: a slot, memory or a lookup must come free first,
    /// and a back-off has an end of its own ([`Backoff::until`]).
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Probing => Some(PROBE_WAIT),
            Self::RateLimit(wait) | Self::OperatorRateLimit(wait) => Some(*wait),
            Self::BackOff(_)
            | Self::DestinationFull
            | Self::LargeMessages
            | Self::Memory
            | Self::Probation
            | Self::Lookup
            | Self::NoFreeAttempt => None,
        }
    }

    /// Whether a smaller message, or one of another account, may start where this one cannot.
    #[must_use]
    pub fn is_of_message(&self) -> bool {
        match self {
            Self::LargeMessages | Self::Memory | Self::Probation => true,
            Self::BackOff(_)
            | Self::Probing
            | Self::DestinationFull
            | Self::RateLimit(_)
            | Self::OperatorRateLimit(_)
            | Self::Lookup
            | Self::NoFreeAttempt => false,
        }
    }
}
