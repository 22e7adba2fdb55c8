//! Traffic shaping limits of one destination: connections, messages per connection, rate.

use std::num::NonZeroU32;

use crate::nodes::part;

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

impl Limits {
    /// One node's part of the limits where so many nodes deliver. Together the nodes keep to the limits, but each node
    /// has at least one connection and one message per minute.
    #[must_use]
    pub fn among(self, nodes: u32) -> Self {
        Self {
            connections: (self.connections / nodes.max(1)).max(1),
            per_minute: self.per_minute.map(|it| part(it, nodes)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_share_the_limits_of_a_destination() {
        let whole = Limits {
            connections: 20,
            messages_per_connection: 100,
            per_minute: NonZeroU32::new(100),
        };
        assert_eq!([0, 1].map(|nodes| whole.among(nodes)), [whole; 2]);
        let third = whole.among(3);
        assert_eq!((third.connections, third.per_minute.map(NonZeroU32::get)), (6, Some(33)));
        assert_eq!(third.messages_per_connection, 100, "of each connection");
        let least = whole.among(1_000);
        assert_eq!((least.connections, least.per_minute), (1, Some(NonZeroU32::MIN)));
    }
}
