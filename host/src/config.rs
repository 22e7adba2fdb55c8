//! The configuration: one TOML file, every key also as `WAXWING_SECTION__KEY`. Read by `server`
//! and `cli` only; everything below takes values.

mod acme;
mod backup;
mod bounces;
mod changes;
mod credits;
mod delivery;
mod dns;
mod domains;
mod environment;
mod health;
mod hostname;
mod http;
mod limits;
mod listen;
mod listeners;
mod log_filter;
mod node;
mod people;
mod plugins;
mod read;
mod retention;
mod sections;
mod smtp;
mod store;
mod telemetry;
mod unreadable_keys;
mod violations;
mod webhooks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use acme::{Acme, Challenge};
pub use backup::Backup;
pub use bounces::Bounces;
pub use credits::Credits;
pub use delivery::{Addresses, Delivery, Route, Security, Smarthost};
pub use dns::{Dns, NameServer};
pub use domains::Domains;
pub use health::{Health, TimeServer};
pub use hostname::Hostname;
pub use http::{ForwardedHeader, Http, InvalidMetricsListen, MetricsListen};
pub use limits::Limits;
pub use listen::{InvalidListen, Listen, ListenAddresses};
pub use listeners::{Listener, listeners};
pub use log_filter::{InvalidLogFilter, LogFilter};
pub use node::Node;
pub use people::People;
pub use plugins::Plugins;
use read::Written;
pub use retention::Retention;
pub use sections::{Config, Inbox, Log, LogFormat};
pub use smtp::{BareNewline, InsufficientBalance, Smtp};
pub use store::Store;
pub use telemetry::Telemetry;
use unreadable_keys::UnreadableKeys;
use violations::Violations;
pub use webhooks::Webhooks;

/// What could be read of a configuration, and what is wrong with it.
#[derive(Debug)]
pub struct Reading {
    pub config: Config,
    pub faults: Vec<String>,
    /// The sections of the file that set something.
    pub sections: BTreeSet<String>,
    unreadable: UnreadableKeys,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {source}{}", advice(source))]
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
        Self::load_with_sections(file, environment).map(|(config, _)| config)
    }

    /// As [`Config::load`], with the sections of the file that set something.
    pub fn load_with_sections(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<(Self, BTreeSet<String>), ConfigError> {
        let Reading { config, faults, sections, .. } = Self::read(file, environment)?;
        if faults.is_empty() {
            return Ok((config, sections));
        }
        Err(ConfigError::invalid(file, faults))
    }

    /// The sound part of a file and of the environment, and every fault of the rest.
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
        let sections = written.sections();
        written.add_variables(environment);
        let Written { table, mut faults, mut unreadable } = written;
        // What is at fault has been taken out; the rules are about the rest.
        let config: Self = table.try_into().unwrap_or_else(|error: toml::de::Error| {
            faults.push(error.message().to_owned());
            unreadable.add(String::new());
            Self::default()
        });
        faults.extend(config.broken_rules(&unreadable));
        Ok(Reading { config, faults, sections, unreadable })
    }

    /// Bounds that no type can say.
    fn broken_rules(&self, unreadable: &UnreadableKeys) -> Vec<String> {
        let mut violations = Violations { broken: Vec::new(), unreadable };
        self.http.check(&mut violations);
        self.smtp.check(&mut violations);
        self.acme.check(&self.http, &self.smtp, &mut violations);
        self.store.check(&mut violations);
        self.node.check(&mut violations);
        self.limits.check(&mut violations);
        self.plugins.check(&mut violations);
        self.delivery.check(&mut violations);
        self.bounces.check(&mut violations);
        self.dns.check(&mut violations);
        self.domains.check(&mut violations);
        self.webhooks.check(&mut violations);
        self.credits.check(&mut violations);
        self.people.check(&mut violations);
        self.health.check(&mut violations);
        violations.must_with(
            &["people.mail_key"],
            self.health.notify.is_empty() || self.people.mail_key.is_some(),
            "health.notify: needs people.mail_key, with which the server sends it",
        );
        self.retention.check(&mut violations);
        self.backup.check(&mut violations);
        violations.must_with(
            &["store.url"],
            self.backup.to.is_none() || self.store.url.is_none(),
            "backup.to: not with store.url, because PostgreSQL has backups of its own (pg_dump, pgBackRest)",
        );
        self.telemetry.check(&mut violations);
        violations.must(!self.store.data_dir.as_os_str().is_empty(), "store.data_dir: not empty");
        violations.must(
            !self.inbox.enabled || self.inbox.smtp_listen.ip().is_loopback(),
            "inbox.smtp_listen: a loopback address, because the inbox takes mail without authentication",
        );
        listeners::check(self, &mut violations);
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

/// What to do where a user may not read the file: which user it is cannot be told.
fn advice(error: &std::io::Error) -> &'static str {
    if error.kind() != std::io::ErrorKind::PermissionDenied {
        return "";
    }
    "; a command runs as the server's user, `runuser -u waxwing -- waxwing …`, and this user must be able to read the \
     file: `chgrp waxwing FILE; chmod 640 FILE`"
}

impl Reading {
    /// Whether the value of a key is valid: false where a stand-in replaces a value that could not be read.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        !self.unreadable.contains(key)
    }
}

#[cfg(test)]
mod tests;
