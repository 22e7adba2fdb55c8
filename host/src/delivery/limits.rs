//! Traffic shaping limits of one destination: connections, messages per connection, rate.

use std::num::NonZeroU32;

/// The traffic shaping limits of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parallel connections, at least 1.
    pub connections: u32,
    /// Messages sent over one connection before it is closed, at least 1.
    pub messages_per_connection: u32,
    /// Messages per minute (rate limit); none for no limit.
    pub per_minute: Option<NonZeroU32>,
}
