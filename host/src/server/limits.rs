//! The limits in use, each shared with the place where it is read, so that a reload can replace them.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use super::connection_limits::{Bounds, ConnectionSlots, Protocol};
use super::listeners::HttpTimeouts;
use super::relay;
use crate::api::lists::ListLimits;
use crate::api::{BodyLimits, RequestLimits};
use crate::config::Config;
use crate::fair_share::FairShare;
use crate::journey::accept::rate_limit::RateLimits;

/// Memory for bodies is counted in KiB.
const KIB: usize = 1_024;

/// The limits of both listeners, HTTP and SMTP.
#[derive(Debug)]
pub struct LiveLimits {
    /// Rate limits of sends and failed logins, shared by both listeners.
    pub rate_limits: Arc<RateLimits>,
    /// What a request over HTTP may be.
    pub requests: Arc<ArcSwap<RequestLimits>>,
    /// What bodies may hold.
    pub bodies: BodyLimits,
    /// How often and how many lists are read.
    pub lists: Arc<ListLimits>,
    /// Connections of the HTTP listener.
    pub slots: Arc<ConnectionSlots>,
    /// How long an HTTP client may take.
    pub timeouts: Arc<ArcSwap<HttpTimeouts>>,
    /// Those of the relay, where it runs.
    pub relay: Option<relay::LiveRelay>,
}

impl LiveLimits {
    /// Those of a configuration; the relay brings its own. Bodies that are arriving end soon after
    /// `stopping`.
    #[must_use]
    pub fn new(config: &Config, stopping: CancellationToken) -> Self {
        let limits = &config.limits;
        let (a_second, burst) = (limits.sends_per_second, limits.send_burst);
        Self {
            rate_limits: Arc::new(RateLimits::new(a_second, burst, limits.failed_logins)),
            requests: Arc::new(ArcSwap::from_pointee(requests(config))),
            bodies: BodyLimits {
                memory: FairShare::new(limits.body_memory_bytes.div_ceil(KIB)),
                arriving: FairShare::new(limits.connections),
                stopping,
            },
            lists: Arc::new(ListLimits::new(limits.lists_per_second)),
            slots: ConnectionSlots::new(Protocol::Http, bounds(config)),
            timeouts: Arc::new(ArcSwap::from_pointee(timeouts(config))),
            relay: None,
        }
    }

    /// What is to be tidied from time to time.
    #[must_use]
    pub fn buckets(&self) -> (Arc<RateLimits>, Arc<ListLimits>) {
        (Arc::clone(&self.rate_limits), Arc::clone(&self.lists))
    }

    /// Replaces the limits by those of another configuration. It closes no connection, and resets no count
    /// whose limit stays.
    pub fn apply(&self, config: &Config) {
        let limits = &config.limits;
        let (a_second, burst) = (limits.sends_per_second, limits.send_burst);
        self.rate_limits.change(a_second, burst, limits.failed_logins);
        self.requests.store(Arc::new(requests(config)));
        self.bodies.memory.resize(limits.body_memory_bytes.div_ceil(KIB));
        self.bodies.arriving.resize(limits.connections);
        self.lists.set_rate(limits.lists_per_second);
        self.slots.set_bounds(bounds(config));
        self.timeouts.store(Arc::new(timeouts(config)));
        if let Some(relay) = &self.relay {
            relay.apply(config);
        }
    }
}

fn bounds(config: &Config) -> Bounds {
    Bounds {
        connections: config.limits.connections,
        connections_per_ip: config.limits.connections_of_one_ip(),
    }
}

fn timeouts(config: &Config) -> HttpTimeouts {
    HttpTimeouts {
        headers: Duration::from_secs(config.limits.header_seconds),
        write: Duration::from_secs(config.limits.write_seconds),
    }
}

fn requests(config: &Config) -> RequestLimits {
    RequestLimits {
        body_bytes: config.limits.body_bytes,
        body_time: Duration::from_secs(config.limits.body_seconds),
        impact_calls: config.plugins.impact_calls,
    }
}
