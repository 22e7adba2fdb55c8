//! The limits in use, each shared with the place where it is read, so that another configuration can
//! exchange them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::listeners::Bounds;
use super::permits::Permits;
use super::relay;
use crate::api::RequestLimits;
use crate::config::Config;
use crate::journey::accept::rate_limit::RateLimits;

/// Memory for bodies is counted in KiB.
const KIB: usize = 1_024;

/// The limits of both doors.
#[derive(Debug)]
pub struct LimitsInUse {
    /// The buckets, shared by both doors.
    pub rate_limits: Arc<RateLimits>,
    /// What a request over HTTP may be.
    pub requests: Arc<ArcSwap<RequestLimits>>,
    /// KiB of bodies that may be in memory at one time.
    pub body_memory: Permits,
    /// Those of the relay, where it runs.
    pub relay: Option<relay::InUse>,
    connections: Permits,
    header_seconds: Arc<AtomicU64>,
}

impl LimitsInUse {
    /// Those of a configuration; the relay brings its own.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let limits = &config.limits;
        let (a_second, burst) = (limits.sends_per_second, limits.send_burst);
        Self {
            rate_limits: Arc::new(RateLimits::new(a_second, burst, limits.failed_logins)),
            requests: Arc::new(ArcSwap::from_pointee(requests(config))),
            body_memory: Permits::new(limits.body_memory_bytes.div_ceil(KIB)),
            relay: None,
            connections: Permits::new(limits.connections),
            header_seconds: Arc::new(AtomicU64::new(limits.header_seconds)),
        }
    }

    /// The bounds of the HTTP listener.
    #[must_use]
    pub fn http(&self) -> Bounds {
        Bounds {
            connections: self.connections.semaphore(),
            header_seconds: Arc::clone(&self.header_seconds),
        }
    }

    /// Puts those of another configuration in their place. No connection ends for it, and nothing that
    /// is counted begins anew where its limit stays.
    pub fn take(&self, config: &Config) {
        let limits = &config.limits;
        let (a_second, burst) = (limits.sends_per_second, limits.send_burst);
        self.rate_limits.change(a_second, burst, limits.failed_logins);
        self.requests.store(Arc::new(requests(config)));
        self.body_memory.resize(limits.body_memory_bytes.div_ceil(KIB));
        self.connections.resize(limits.connections);
        self.header_seconds.store(limits.header_seconds, Ordering::Relaxed);
        if let Some(relay) = &self.relay {
            relay.take(config);
        }
    }
}

fn requests(config: &Config) -> RequestLimits {
    RequestLimits {
        body_bytes: config.limits.body_bytes,
        body_time: Duration::from_secs(config.limits.body_seconds),
        impact_calls: config.plugins.impact_calls,
    }
}
