//! `[limits]`: the bounds of the HTTP listener.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::violations::Violations;

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Sends a second, for each key and for each account.
    pub sends_per_second: NonZeroU32,
    /// Sends in a burst, for each key and for each account.
    pub send_burst: NonZeroU32,
    /// Failed logins in a burst from one address, over HTTP and SMTP together; half as many are forgiven each
    /// minute. IPv6 addresses count by /64.
    pub failed_logins: NonZeroU32,
    /// Largest body of a request, in bytes.
    pub body_bytes: usize,
    /// Seconds for a body to arrive.
    pub body_seconds: u64,
    /// Memory for bodies of requests, in bytes; accounts share it fairly.
    pub body_memory_bytes: usize,
    /// Most connections at one time.
    pub connections: usize,
    /// Most connections at one time from one address; IPv6 addresses count by /64. Half of `connections` if it is
    /// left out.
    pub connections_per_ip: Option<usize>,
    /// Seconds for a request's headers to arrive; an idle connection ends after them.
    pub header_seconds: u64,
    /// Seconds for a client to take the next part of its answer.
    pub write_seconds: u64,
    /// Pages of lists a second, for each account; twice as many at once.
    pub lists_per_second: NonZeroU32,
}

impl Limits {
    /// Connections from one address.
    #[must_use]
    pub fn connections_of_one_ip(&self) -> usize {
        self.connections_per_ip.unwrap_or_else(|| self.connections.div_ceil(2))
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let connections = 1..=1_000_000;
        violations
            .must(connections.contains(&self.connections), "limits.connections: 1 to 1000000");
        let body = 1..=64 << 20;
        violations.must(body.contains(&self.body_bytes), "limits.body_bytes: 1 to 67108864");
        violations.must(self.body_seconds >= 1, "limits.body_seconds: at least 1");
        violations.must(self.header_seconds >= 1, "limits.header_seconds: at least 1");
        violations.must(self.write_seconds >= 1, "limits.write_seconds: at least 1");
        violations.must(
            self.connections_per_ip.is_none_or(|it| it >= 1),
            "limits.connections_per_ip: at least 1",
        );
        // A bound that is itself broken is named alone.
        let body_bytes = self.body_bytes.min(64 << 20);
        violations.must_with(
            &["limits.body_bytes"],
            (body_bytes..=1 << 40).contains(&self.body_memory_bytes),
            "limits.body_memory_bytes: at least limits.body_bytes, at most 2^40",
        );
    }
}

impl Default for Limits {
    fn default() -> Self {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        Self {
            sends_per_second: number(1_000),
            send_burst: number(2_000),
            failed_logins: number(20),
            body_bytes: 10 << 20,
            body_seconds: 30,
            body_memory_bytes: 64 << 20,
            connections: 2_048,
            connections_per_ip: None,
            header_seconds: 10,
            write_seconds: 30,
            lists_per_second: number(50),
        }
    }
}
