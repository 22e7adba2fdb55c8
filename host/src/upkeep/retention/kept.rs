//! For how long something is kept.

use std::time::Duration;

pub const DAY: Duration = Duration::from_hours(24);
pub const WEEK: Duration = Duration::from_hours(7 * 24);

/// For how long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// For ever.
    Always,
    /// For so long after it came to rest.
    For(Duration),
}

impl Kept {
    /// For so many days; 0 means for ever.
    #[must_use]
    pub fn days(days: u32) -> Self {
        if days == 0 { Self::Always } else { Self::For(DAY.saturating_mul(days)) }
    }
}

/// How long is kept what the operator may choose.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// The content of messages, and the conversations of their attempts.
    pub content: Kept,
    /// Messages, with their events, attempts and decisions; and events about anything else.
    pub messages: Kept,
    /// Recorded calls of plugins.
    pub samples: Duration,
    /// Deliveries to webhooks.
    pub deliveries: Duration,
    /// Mails that ask for the confirmation of an address.
    pub confirmations: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            content: Kept::For(WEEK),
            messages: Kept::days(90),
            samples: WEEK,
            deliveries: DAY.saturating_mul(30),
            confirmations: DAY,
        }
    }
}

impl Retention {
    /// For how long content is kept: it goes with its message at the latest.
    #[must_use]
    pub fn content(self) -> Kept {
        match (self.content, self.messages) {
            (Kept::For(content), Kept::For(messages)) => Kept::For(content.min(messages)),
            (Kept::Always, other) | (other, Kept::Always) => other,
        }
    }
}
