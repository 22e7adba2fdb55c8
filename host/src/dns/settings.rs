//! How a resolver asks.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// How a [`super::Resolver`] asks.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Asked in this order; none means those of the system.
    pub nameservers: Vec<SocketAddr>,
    /// For one try at one server over UDP, and as much again where the answer needs TCP.
    pub timeout: Duration,
    /// Rounds over all servers before a question is given up; at least 1.
    pub tries: u32,
    /// Lookups at one time; at least 1. The others wait.
    pub concurrent: usize,
    /// Queries a second, over all servers; a tenth of them may go out at once. The others wait.
    pub per_second: NonZeroU32,
}
