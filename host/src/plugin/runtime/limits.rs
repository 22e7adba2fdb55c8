//! What a plugin may use: time, memory, bytes out. Each refusal names its setting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use wasmtime::ResourceLimiter;

use super::kind::Kind;

const MIB: usize = 1 << 20;

/// The limits of the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Template rendering, and MJML.
    #[serde(deserialize_with = "LimitOverrides::of_renderer")]
    pub renderer: CallLimits,
    /// Plan restriction and price.
    #[serde(deserialize_with = "LimitOverrides::of_plan")]
    pub plan: CallLimits,
    /// Domain verification.
    #[serde(deserialize_with = "LimitOverrides::of_domain")]
    pub domain: CallLimits,
}

/// Limits of calls that are set; the others stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitOverrides {
    call_ms: Option<u64>,
    prepare_ms: Option<u64>,
    memory_bytes: Option<usize>,
    output_bytes: Option<usize>,
}

impl LimitOverrides {
    fn of_renderer<'de, D: Deserializer<'de>>(from: D) -> Result<CallLimits, D::Error> {
        Self::deserialize(from).map(|it| it.over(Limits::default().renderer))
    }

    fn of_plan<'de, D: Deserializer<'de>>(from: D) -> Result<CallLimits, D::Error> {
        Self::deserialize(from).map(|it| it.over(Limits::default().plan))
    }

    fn of_domain<'de, D: Deserializer<'de>>(from: D) -> Result<CallLimits, D::Error> {
        Self::deserialize(from).map(|it| it.over(Limits::default().domain))
    }

    /// As [`CallLimits::broken_rules`], of the limits that these say.
    pub(in crate::plugin) fn broken_rules(self) -> Vec<&'static str> {
        self.over(Limits::default().renderer).broken_rules()
    }

    /// These limits where they say something, else the others.
    pub(in crate::plugin) fn over(self, kind: CallLimits) -> CallLimits {
        CallLimits {
            call_ms: self.call_ms.unwrap_or(kind.call_ms),
            prepare_ms: self.prepare_ms.unwrap_or(kind.prepare_ms),
            memory_bytes: self.memory_bytes.unwrap_or(kind.memory_bytes),
            output_bytes: self.output_bytes.unwrap_or(kind.output_bytes),
        }
    }
}

/// The limits of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CallLimits {
    /// Running time of one call, in milliseconds.
    pub call_ms: u64,
    /// Running time of one compilation of a template, of `configure` or of a self-test, in
    /// milliseconds.
    pub prepare_ms: u64,
    /// Memory of one instance, all its linear memories together, in bytes.
    pub memory_bytes: usize,
    /// What one call may answer, in bytes.
    pub output_bytes: usize,
}

impl CallLimits {
    /// What the engine cannot keep, each with its key.
    #[must_use]
    pub fn broken_rules(&self) -> Vec<&'static str> {
        let rules = [
            ((1..=60_000).contains(&self.call_ms), "call_ms: 1 to 60000"),
            ((1..=60_000).contains(&self.prepare_ms), "prepare_ms: 1 to 60000"),
            (
                (64 << 10..=128 << 20).contains(&self.memory_bytes),
                "memory_bytes: 65536 to 134217728",
            ),
            ((1 << 10..=64 << 20).contains(&self.output_bytes), "output_bytes: 1024 to 67108864"),
        ];
        rules.into_iter().filter(|(holds, _)| !holds).map(|(_, rule)| rule).collect()
    }

    /// Running time of one call.
    #[must_use]
    pub fn call(&self) -> Duration {
        Duration::from_millis(self.call_ms)
    }

    /// Running time of one preparing call.
    #[must_use]
    pub fn prepare(&self) -> Duration {
        Duration::from_millis(self.prepare_ms)
    }
}

impl Limits {
    #[must_use]
    pub fn of(&self, kind: Kind) -> CallLimits {
        match kind {
            Kind::Renderer | Kind::Mjml => self.renderer,
            Kind::Plan => self.plan,
            Kind::Domain => self.domain,
        }
    }
}

impl CallLimits {
    /// Interpreters hold their heap and their standard library, and start slowly; limits that the
    /// operator set for the kind are only raised.
    pub(in crate::plugin) fn for_an_interpreter(mut self, kind: Kind) -> Self {
        let default = Limits::default().of(kind);
        if self.memory_bytes == default.memory_bytes {
            self.memory_bytes = self.memory_bytes.max(64 * MIB);
        }
        if self.prepare_ms == default.prepare_ms {
            self.prepare_ms = self.prepare_ms.max(500);
        }
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            renderer: CallLimits {
                call_ms: 100,
                prepare_ms: 250,
                memory_bytes: 64 * MIB,
                output_bytes: 8 * MIB,
            },
            plan: CallLimits {
                call_ms: 10,
                prepare_ms: 50,
                memory_bytes: 16 * MIB,
                output_bytes: MIB / 4,
            },
            domain: CallLimits {
                call_ms: 50,
                prepare_ms: 50,
                memory_bytes: 16 * MIB,
                output_bytes: MIB,
            },
        }
    }
}

/// Counts what an instance holds; wasmtime's own limiter counts each memory for itself.
#[derive(Debug)]
pub struct Meter {
    limit: usize,
    held: usize,
    peak: Peak,
    exceeded: bool,
}

/// The most memory that an instance of a generation has held. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Peak(Arc<AtomicUsize>);

impl Peak {
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Meter {
    const TABLE_ELEMENTS: usize = 100_000;

    pub fn new(limit: usize, peak: Peak) -> Self {
        Self { limit, held: 0, peak, exceeded: false }
    }

    /// Whether the guest tried to allocate more than it may have.
    pub fn exceeded(&self) -> bool {
        self.exceeded
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let held = self.held.saturating_add(desired.saturating_sub(current));
        let allowed = held <= self.limit;
        if allowed {
            self.held = held;
            self.peak.0.fetch_max(held, Ordering::Relaxed);
        } else {
            self.exceeded = true;
        }
        Ok(allowed)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let allowed = desired <= Self::TABLE_ELEMENTS;
        self.exceeded |= !allowed;
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        8
    }

    fn tables(&self) -> usize {
        32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_is_the_sum_over_all_memories() {
        let peak = Peak::default();
        let mut meter = Meter::new(10, peak.clone());
        assert!(meter.memory_growing(0, 6, None).expect("no error"));
        assert!(!meter.memory_growing(0, 6, None).expect("no error"));
        assert!(meter.exceeded());
        assert_eq!(peak.bytes(), 6);
    }
}
