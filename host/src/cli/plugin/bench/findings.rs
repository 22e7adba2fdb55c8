//! What a bench measured.

use std::time::Duration;

use crate::plugin::{CallLimits, Instances, Kind};

/// CPU times, sorted.
#[derive(Debug, Clone)]
pub struct Times(Vec<Duration>);

/// What one input costs.
#[derive(Debug)]
pub struct Costs {
    pub name: String,
    pub instance: Times,
    pub cold: Times,
    pub warm: Times,
    /// Compiling and rendering; for renderers.
    pub first: Option<Times>,
    pub answer_bytes: usize,
}

/// What a component costs.
#[derive(Debug)]
pub struct Findings {
    pub name: String,
    pub version: String,
    pub digest: String,
    pub kind: Kind,
    /// How a server uses its instances.
    pub instances: Instances,
    pub limits: CallLimits,
    pub calls: u32,
    pub memory_bytes: usize,
    pub costs: Vec<Costs>,
}

/// Only policies have a setting for the use of their instances.
impl Times {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub fn p99(&self) -> Duration {
        self.percentile(99)
    }

    /// The time that so many of a hundred calls do not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}
