//! The configuration: one TOML file, every key also as `WAXWING_SECTION__KEY`. Read by `server`
//! and `cli` only; everything below takes values.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::plugin::Limits as PluginLimits;
use crate::plugin::signature::{PublicKey, SignatureRule};

const PREFIX: &str = "WAXWING_";

/// All of it. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The HTTP door.
    pub http: Http,
    /// Where everything is kept.
    pub store: Store,
    /// How messages leave.
    pub delivery: Delivery,
    /// The sandbox inbox.
    pub inbox: Inbox,
    /// The plugins.
    pub plugins: Plugins,
    /// Bounds.
    pub limits: Limits,
    /// The log.
    pub log: Log,
}

/// `[http]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Where to listen.
    pub listen: SocketAddr,
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The directory of the database, the master key and the caches.
    pub data_dir: PathBuf,
}

/// `[delivery]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    /// Where mail goes.
    pub route: Route,
    /// Seconds between attempts; the last one holds for all that follow. Empty: 1 min to 4 h.
    pub retry_pauses_s: Vec<u64>,
}

/// A route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Into the sandbox inbox: nothing leaves this machine.
    #[default]
    Sandbox,
}

/// `[inbox]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inbox {
    /// Where its SMTP server listens; loopback only.
    pub smtp_listen: SocketAddr,
    /// Whether its SMTP server runs. `false` leaves messages for the sandbox waiting.
    pub enabled: bool,
    /// Whether `/inbox` shows its messages to whoever can reach the HTTP door.
    pub view: bool,
}

/// `[plugins]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plugins {
    /// What each kind may use.
    pub limits: PluginLimits,
    /// The operator's directory; `plugins` in the data directory where it is left out.
    pub dir: Option<PathBuf>,
    /// What is asked of the signatures of components.
    pub signatures: SignatureRule,
    /// Whose signatures are trusted.
    pub trusted_keys: Vec<PublicKey>,
    /// Bytes of a component; Python's need 32 MiB.
    pub max_component_bytes: u64,
    /// Every how many calls of a plugin one is recorded, encrypted; 0 for none.
    pub sample_every: u64,
    /// Recorded calls that are kept for each slot.
    pub samples_kept: u32,
    /// Days that a recorded call is kept.
    pub sample_days: u32,
    /// Recorded calls that a new plugin is compared on.
    pub impact_calls: u32,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Sends a second, for each key and each account.
    pub sends_per_second: NonZeroU32,
    /// Sends at once, for each key and each account.
    pub send_burst: NonZeroU32,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Seconds for a body to arrive.
    pub body_seconds: u64,
    /// Bytes of bodies in memory, all requests together.
    pub body_memory_bytes: usize,
    /// Connections at one time.
    pub connections: usize,
    /// Seconds for a request's headers to arrive.
    pub header_seconds: u64,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// `text` or `json`.
    pub format: LogFormat,
    /// As in `info` or `waxwing=debug,warn`.
    pub filter: String,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file, or the environment, is wrong. The text names line, column and the valid keys.
    #[error("the configuration {origin} is not valid:\n{message}")]
    Invalid {
        /// The file, or the environment.
        origin: String,
        /// What is wrong.
        message: String,
    },
}

impl Config {
    /// Reads a file, if one is given, and then the environment.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut table = toml::Table::new();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
            let invalid = |error: toml::de::Error| ConfigError::Invalid {
                origin: path.display().to_string(),
                message: error.to_string(),
            };
            // Parsed twice: this time for messages that name the line.
            toml::from_str::<Self>(&text).map_err(invalid)?;
            table = toml::from_str(&text).map_err(invalid)?;
        }
        for (name, value) in environment {
            if let Some(path) = path(&name) {
                insert(&mut table, &path, typed(&value));
            }
        }
        let config: Self = table.try_into().map_err(|error: toml::de::Error| {
            let origin = "with the environment (WAXWING_…)".to_owned();
            ConfigError::Invalid { origin, message: error.to_string() }
        })?;
        config.check()
    }

    /// Bounds that no type can say; all that are broken at once.
    fn check(self) -> Result<Self, ConfigError> {
        let limits = &self.limits;
        let mut broken = Vec::new();
        let mut must = |holds: bool, rule: &str| {
            if !holds {
                broken.push(format!("  {rule}"));
            }
        };
        must((1..=1_000_000).contains(&limits.connections), "limits.connections: 1 to 1000000");
        must((1..=64 << 20).contains(&limits.body_bytes), "limits.body_bytes: 1 to 67108864");
        must(limits.body_seconds >= 1, "limits.body_seconds: at least 1");
        must(limits.header_seconds >= 1, "limits.header_seconds: at least 1");
        let memory = limits.body_bytes..=1 << 40;
        must(
            memory.contains(&limits.body_memory_bytes),
            "limits.body_memory_bytes: at least limits.body_bytes, at most 2^40",
        );
        let plugins = &self.plugins;
        must(
            (1 << 10..=32 << 20).contains(&plugins.max_component_bytes),
            "plugins.max_component_bytes: 1024 to 33554432",
        );
        must(plugins.samples_kept <= 10_000, "plugins.samples_kept: at most 10000");
        must(plugins.impact_calls <= 1_000, "plugins.impact_calls: at most 1000");
        must((1..=365).contains(&plugins.sample_days), "plugins.sample_days: 1 to 365");
        let pauses = &self.delivery.retry_pauses_s;
        must(pauses.iter().all(|pause| *pause >= 1), "delivery.retry_pauses_s: each at least 1");
        must(!self.store.data_dir.as_os_str().is_empty(), "store.data_dir: not empty");
        if broken.is_empty() {
            return Ok(self);
        }
        let (origin, message) = ("and the environment".to_owned(), broken.join("\n"));
        Err(ConfigError::Invalid { origin, message })
    }
}

/// `WAXWING_HTTP__LISTEN` is `listen` in `[http]`; variables without `__` are not ours.
fn path(name: &str) -> Option<Vec<String>> {
    let steps: Vec<String> =
        name.strip_prefix(PREFIX)?.split("__").map(str::to_ascii_lowercase).collect();
    (steps.len() > 1).then_some(steps)
}

fn insert(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [section, rest @ ..] => {
            let section = table
                .entry(section.clone())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let toml::Value::Table(section) = section {
                insert(section, rest, value);
            }
        }
    }
}

/// A number, a boolean or an array where it reads as one, else a text.
fn typed(value: &str) -> toml::Value {
    let document = toml::from_str::<toml::Table>(&format!("value = {value}"));
    document
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()))
}

impl Default for Http {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 8080)) }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self { data_dir: PathBuf::from("waxwing-data") }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self { smtp_listen: SocketAddr::from(([127, 0, 0, 1], 2525)), enabled: true, view: false }
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
            sample_every: 100,
            samples_kept: 500,
            sample_days: 7,
            impact_calls: 100,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let number = |n| NonZeroU32::new(n).expect("not zero");
        Self {
            sends_per_second: number(1_000),
            send_burst: number(2_000),
            body_bytes: 10 << 20,
            body_seconds: 30,
            body_memory_bytes: 64 << 20,
            connections: 2_048,
            header_seconds: 10,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn every_key_can_come_from_the_environment() {
        let pairs = [
            ("WAXWING_HTTP__LISTEN", "127.0.0.1:0"),
            ("WAXWING_LIMITS__SENDS_PER_SECOND", "7"),
            ("WAXWING_DELIVERY__RETRY_PAUSES_S", "[1, 2]"),
            ("WAXWING_PLUGINS__LIMITS__PLAN__CALL_MS", "20"),
            ("WAXWING_CI", "not ours"),
        ];
        let config = Config::load(None, environment(&pairs).into_iter()).expect("valid");
        assert_eq!(config.http.listen.port(), 0);
        assert_eq!(config.limits.sends_per_second.get(), 7);
        assert_eq!(config.delivery.retry_pauses_s, [1, 2]);
        assert_eq!(config.plugins.limits.plan.call_ms, 20);
        assert_eq!(config.plugins.limits.plan.prepare_ms, 50, "the others keep their defaults");
    }

    #[test]
    fn all_bounds_that_are_broken_are_named_at_once() {
        let pairs = [
            ("WAXWING_LIMITS__CONNECTIONS", "0"),
            ("WAXWING_LIMITS__BODY_MEMORY_BYTES", "0"),
            ("WAXWING_DELIVERY__RETRY_PAUSES_S", "[0]"),
        ];
        let error = Config::load(None, environment(&pairs).into_iter()).expect_err("broken");
        let text = error.to_string();
        for name in ["connections", "body_memory_bytes", "retry_pauses_s"] {
            assert!(text.contains(name), "{text}");
        }
    }

    #[test]
    fn an_unknown_key_is_named_with_the_valid_ones() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("waxwing.toml");
        std::fs::write(&file, "[http]\nlissten = \"127.0.0.1:1\"\n").expect("written");
        let error = Config::load(Some(&file), std::iter::empty()).expect_err("unknown key");
        let text = error.to_string();
        assert!(text.contains("line 2") && text.contains("lissten") && text.contains("listen"));
    }
}
