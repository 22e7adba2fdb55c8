//! Resolvers by the configuration, each with bounds of its own.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::Config;
use crate::dns::{Resolver, ResolverError, Settings};

/// The resolver for the records of sender domains.
pub fn resolver(config: &Config, clock: &Clock) -> Result<Resolver, ResolverError> {
    paced_resolver(config, config.dns.concurrent, config.dns.queries_per_second, clock)
}

/// Where the system names no server, 127.0.0.1 is asked, as the C library does: so a laptop without a network
/// still starts.
pub fn paced_resolver(
    config: &Config,
    concurrent: usize,
    per_second: NonZeroU32,
    clock: &Clock,
) -> Result<Resolver, ResolverError> {
    let dns = &config.dns;
    let mut settings = Settings {
        nameservers: dns.nameservers.iter().map(|it| it.0).collect(),
        timeout: Duration::from_millis(dns.timeout_ms),
        tries: dns.tries,
        concurrent,
        per_second,
    };
    match Resolver::new(&settings, clock.clone()) {
        Err(error) if settings.nameservers.is_empty() => {
            tracing::warn!(%error, "dns.nameservers is not set and /etc/resolv.conf names no name server, so DNS queries go to 127.0.0.1:53; set dns.nameservers");
            settings.nameservers = vec![SocketAddr::from(([127, 0, 0, 1], 53))];
            Resolver::new(&settings, clock.clone())
        }
        made => made,
    }
}
