//! `[dns]`: who is asked, and how much at one time.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::violations::Violations;

const DNS_PORT: u16 = 53;

/// `[dns]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dns {
    /// Recursive name servers, in the order in which they are queried, as in `"127.0.0.1:5300"` or
    /// `"9.9.9.9"`; empty for those of the system.
    pub nameservers: Vec<NameServer>,
    /// Milliseconds that one server has for one answer.
    pub timeout_ms: u64,
    /// How often all servers are queried before a lookup fails.
    pub tries: u32,
    /// Lookups at one time, of the checks of sender domains.
    pub concurrent: usize,
    /// Queries a second, of the checks of sender domains.
    pub queries_per_second: NonZeroU32,
    /// Queries a second, of deliveries to recipients' own mail exchangers: they wait for no check.
    pub delivery_queries_per_second: NonZeroU32,
}

/// The address of a name server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct NameServer(pub SocketAddr);

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an address, as in \"9.9.9.9\" or \"127.0.0.1:5300\"")]
pub struct InvalidNameServer {
    text: String,
}

impl Dns {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must((10..=60_000).contains(&self.timeout_ms), "dns.timeout_ms: 10 to 60000");
        violations.must((1..=10).contains(&self.tries), "dns.tries: 1 to 10");
        violations.must((1..=10_000).contains(&self.concurrent), "dns.concurrent: 1 to 10000");
    }
}

impl Default for Dns {
    fn default() -> Self {
        Self {
            nameservers: Vec::new(),
            timeout_ms: 2_000,
            tries: 2,
            concurrent: 64,
            queries_per_second: NonZeroU32::new(200).expect("not zero"),
            delivery_queries_per_second: NonZeroU32::new(5_000).expect("not zero"),
        }
    }
}

impl TryFrom<String> for NameServer {
    type Error = InvalidNameServer;

    fn try_from(text: String) -> Result<Self, InvalidNameServer> {
        let address = text.parse::<SocketAddr>().ok();
        let address =
            address.or_else(|| Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, DNS_PORT)));
        address.map(Self).ok_or(InvalidNameServer { text })
    }
}

impl From<NameServer> for String {
    fn from(server: NameServer) -> Self {
        server.0.to_string()
    }
}
