//! The configuration: one TOML file, every key also as `WAXWING_SECTION__KEY`. Read by `server`
//! and `cli` only; everything below takes values.

mod bounces;
mod changes;
mod credits;
mod delivery;
mod dns;
mod domains;
mod environment;
mod hostname;
mod http;
mod limits;
mod listen;
mod log_filter;
mod plugins;
mod read;
mod retention;
mod smtp;
mod webhooks;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use bounces::Bounces;
pub use credits::Credits;
pub use delivery::{Addresses, Delivery, Route, Security, Smarthost};
pub use dns::{Dns, NameServer};
pub use domains::Domains;
pub use hostname::Hostname;
pub use http::{ForwardedHeader, Http, InvalidMetricsListen, MetricsListen};
pub use limits::Limits;
pub use listen::{InvalidListen, Listen, ListenAddresses, Listener, listeners};
pub use log_filter::{InvalidLogFilter, LogFilter};
pub use plugins::Plugins;
use read::{UnreadableKeys, Written};
pub use retention::Retention;
pub use smtp::{BareNewline, InsufficientBalance, Smtp};
pub use webhooks::Webhooks;

/// All of it. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The HTTP API: its listener, and who sees the metrics.
    pub http: Http,
    /// The SMTP relay: its listeners, its certificate, and what a session may use.
    pub smtp: Smtp,
    /// Where the server keeps its data.
    pub store: Store,
    /// How messages leave: routes, smarthosts, and how gently destinations are treated.
    pub delivery: Delivery,
    /// The listener for bounces and complaints, and how long they suppress an address.
    pub bounces: Bounces,
    /// The name servers, and how much they are asked.
    pub dns: Dns,
    /// Sender domains: what they publish for this server, and when they are checked.
    pub domains: Domains,
    /// Webhooks: where events may be posted to, and how often.
    pub webhooks: Webhooks,
    /// When an account gets the event that its credits run out.
    pub credits: Credits,
    /// The sandbox inbox, which takes what must not leave the server.
    pub inbox: Inbox,
    /// The operator's plugins: which are trusted, and what they may use.
    pub plugins: Plugins,
    /// How long messages are kept. 0 days mean for ever: the disk fills up then. The ledger is always kept.
    pub retention: Retention,
    /// What one client, one account and all clients together may use of the HTTP API.
    pub limits: Limits,
    /// The log.
    pub log: Log,
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The directory of the database, the master key and the caches.
    pub data_dir: PathBuf,
}

/// `[inbox]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inbox {
    /// The address of its SMTP listener; loopback only, because nobody logs in.
    pub smtp_listen: SocketAddr,
    /// Whether its SMTP server runs. `false` leaves messages for the sandbox waiting.
    pub enabled: bool,
    /// Whether `/inbox` shows its messages to everybody who can reach the HTTP API.
    pub view: bool,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// `text` for people, or `json` for machines.
    pub format: LogFormat,
    /// What is logged: a level, or levels by module, as in `info` or `waxwing=debug,warn`.
    pub filter: LogFilter,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What could be read of a configuration, and what is wrong with it.
#[derive(Debug)]
pub struct Reading {
    pub config: Config,
    pub faults: Vec<String>,
    unreadable: UnreadableKeys,
}

/// Collects the rules that are broken.
#[derive(Debug)]
struct Violations<'a> {
    broken: Vec<String>,
    unreadable: &'a UnreadableKeys,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file or the environment is wrong.
    #[error("the configuration {origin} is not valid:\n  {}", faults.join("\n  "))]
    Invalid {
        /// The file, or the environment.
        origin: String,
        /// Everything that is wrong, each with line and key, variable, or rule.
        faults: Vec<String>,
    },
}

impl Config {
    /// Reads a file, if one is given, and then the environment.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let Reading { config, faults, .. } = Self::read(file, environment)?;
        if faults.is_empty() {
            return Ok(config);
        }
        Err(ConfigError::invalid(file, faults))
    }

    /// The sound part of a file and of the environment, and every fault of the rest.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Reading, ConfigError> {
        let mut written = match file {
            None => Written::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
                Written::file(&text)
            }
        };
        written.add_variables(environment);
        let Written { table, mut faults, mut unreadable } = written;
        // What is at fault has been taken out; the rules are about the rest.
        let config: Self = table.try_into().unwrap_or_else(|error: toml::de::Error| {
            faults.push(error.message().to_owned());
            unreadable.add(String::new());
            Self::default()
        });
        faults.extend(config.broken_rules(&unreadable));
        Ok(Reading { config, faults, unreadable })
    }

    /// Bounds that no type can say.
    fn broken_rules(&self, unreadable: &UnreadableKeys) -> Vec<String> {
        let mut violations = Violations { broken: Vec::new(), unreadable };
        self.smtp.check(&mut violations);
        self.limits.check(&mut violations);
        self.plugins.check(&mut violations);
        self.delivery.check(&mut violations);
        self.bounces.check(&mut violations);
        self.dns.check(&mut violations);
        self.domains.check(&mut violations);
        self.webhooks.check(&mut violations);
        self.credits.check(&mut violations);
        self.retention.check(&mut violations);
        violations.must(!self.store.data_dir.as_os_str().is_empty(), "store.data_dir: not empty");
        violations.must(
            !self.inbox.enabled || self.inbox.smtp_listen.ip().is_loopback(),
            "inbox.smtp_listen: a loopback address, because the inbox takes mail without authentication",
        );
        listen::check(self, &mut violations);
        violations.broken
    }
}

impl ConfigError {
    /// Whatever finds the faults, they have one heading.
    #[must_use]
    pub fn invalid(file: Option<&Path>, faults: Vec<String>) -> Self {
        let origin = file.map_or_else(
            || "of the environment (WAXWING_…)".to_owned(),
            |path| path.display().to_string(),
        );
        Self::Invalid { origin, faults }
    }
}

impl Reading {
    /// Whether the value of a key is valid: false where a stand-in replaces a value that could not be read.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        !self.unreadable.contains(key)
    }
}

impl Violations<'_> {
    /// A rule begins with the key that it is about.
    fn must(&mut self, holds: bool, rule: &str) {
        self.must_with(&[], holds, rule);
    }

    /// How a fault names an entry beside its place; nothing where its name is unreadable.
    fn called(&self, key: &str, name: &str) -> String {
        if self.unreadable.contains(key) { String::new() } else { format!(" (`{name}`)") }
    }

    /// A rule that is about `others`, too.
    fn must_with(&mut self, others: &[&str], holds: bool, rule: &str) {
        let key = rule.split([':', ' ']).next().unwrap_or_default();
        let is_unreadable = |key: &&str| self.unreadable.contains(key);
        if !holds && !others.iter().chain([&key]).any(is_unreadable) {
            self.broken.push(rule.to_owned());
        }
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

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: LogFilter::level(tracing::Level::INFO) }
    }
}

#[cfg(test)]
mod tests;
