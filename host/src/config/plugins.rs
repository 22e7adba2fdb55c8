//! `[plugins]`: the operator's plugins, and what they may use.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::violations::Violations;
use crate::plugin::compiler::CompileLimits;
use crate::plugin::signature::{PublicKey, SignatureRule};
use crate::plugin::{Kind, Limits as PluginLimits};

/// `[plugins]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plugins {
    /// What a call may use, by kind of plugin: `[plugins.limits.renderer]`, `.plan`, `.domain`.
    #[serde(skip_serializing)]
    pub limits: PluginLimits,
    /// The directory of the operator's plugins; `plugins` in the data directory if it is left out.
    pub dir: Option<PathBuf>,
    /// Whether components must be signed: `off`, `warn` (log a missing or wrong one) or `require`.
    pub signatures: SignatureRule,
    /// Public keys whose signatures are trusted.
    #[serde(skip_serializing)]
    pub trusted_keys: Vec<PublicKey>,
    /// Largest component, in bytes; components in Python need 32 MiB.
    pub max_component_bytes: u64,
    /// Memory that the compilation of one component may use, in bytes.
    pub compile_memory_bytes: u64,
    /// CPU time that the compilation of one component may use, in seconds.
    pub compile_seconds: u64,
    /// Every how many calls of a plugin one is recorded, encrypted; 0 for none.
    pub sample_every: u64,
    /// Recorded calls that are kept for each slot.
    pub samples_kept: u32,
    /// Days that a recorded call is kept.
    pub sample_days: u32,
    /// Recorded calls that a new plugin is compared on.
    pub impact_calls: u32,
}

impl Plugins {
    /// What the compilation of one component may use.
    #[must_use]
    pub fn compile_limits(&self) -> CompileLimits {
        CompileLimits { memory_bytes: self.compile_memory_bytes, seconds: self.compile_seconds }
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        // MJML compiles within the limits of renderers: each section is checked once.
        for kind in [Kind::Renderer, Kind::Domain, Kind::Plan] {
            for rule in self.limits.of(kind).broken_rules() {
                violations.must(false, &format!("plugins.limits.{}.{rule}", kind.as_str()));
            }
        }
        violations.must(
            self.dir.as_ref().is_none_or(|dir| !dir.as_os_str().is_empty()),
            "plugins.dir: not empty; leave the key out for the directory in the data directory",
        );
        violations.must(
            (1 << 10..=32 << 20).contains(&self.max_component_bytes),
            "plugins.max_component_bytes: 1024 to 33554432",
        );
        violations.must(
            (64 << 20..=64 << 30).contains(&self.compile_memory_bytes),
            "plugins.compile_memory_bytes: 67108864 to 68719476736",
        );
        violations.must(
            (1..=3_600).contains(&self.compile_seconds),
            "plugins.compile_seconds: 1 to 3600",
        );
        violations.must(self.samples_kept <= 10_000, "plugins.samples_kept: at most 10000");
        violations.must(self.impact_calls <= 1_000, "plugins.impact_calls: at most 1000");
        violations.must((1..=365).contains(&self.sample_days), "plugins.sample_days: 1 to 365");
    }
}

impl Default for Plugins {
    fn default() -> Self {
        Self {
            limits: PluginLimits::default(),
            dir: None,
            signatures: SignatureRule::Off,
            trusted_keys: Vec::new(),
            max_component_bytes: 16 << 20,
            compile_memory_bytes: 2 << 30,
            compile_seconds: 120,
            sample_every: 100,
            samples_kept: 500,
            sample_days: 7,
            impact_calls: 100,
        }
    }
}
