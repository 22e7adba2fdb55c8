//! The WASI clocks of a plugin: both stand still during a call, and a guest cannot sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};
use wasmtime_wasi_io::poll::DynPollable;

/// Shows the time of the call's context for the whole call.
#[derive(Debug, Clone, Default)]
pub struct FrozenClock(Arc<AtomicU64>);

impl FrozenClock {
    /// Sets the time, in milliseconds since the Unix epoch.
    pub fn set(&self, now_unix_ms: u64) {
        self.0.store(now_unix_ms, Ordering::Relaxed);
    }
}

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl HostMonotonicClock for FrozenClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed).saturating_mul(1_000_000)
    }
}

/// Sleeping is refused: the epoch deadline does not interrupt a guest that sleeps in a host call.
impl monotonic_clock::Host for FrozenClock {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::now(self))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::resolution(self))
    }

    fn subscribe_instant(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        Err(sleep_refused())
    }

    fn subscribe_duration(&mut self, _by: u64) -> wasmtime::Result<Resource<DynPollable>> {
        Err(sleep_refused())
    }
}

fn sleep_refused() -> wasmtime::Error {
    wasmtime::Error::msg("a plugin may not sleep: its clock stands still")
}
