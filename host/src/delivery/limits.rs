use std::num::NonZeroU32;

/// The bounds of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parallel connections, at least 1.
    pub connections: u32,
    /// Messages over one connection, at least 1.
    pub messages_per_connection: u32,
    /// Messages a minute; none for no limit.
    pub per_minute: Option<NonZeroU32>,
}
