//! All sections of the configuration.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::acme::Acme;
use super::backup::Backup;
use super::bounces::Bounces;
use super::credits::Credits;
use super::delivery::Delivery;
use super::dns::Dns;
use super::domains::Domains;
use super::health::Health;
use super::http::Http;
use super::limits::Limits;
use super::log_filter::LogFilter;
use super::node::Node;
use super::people::People;
use super::plugins::Plugins;
use super::retention::Retention;
use super::smtp::Smtp;
use super::store::Store;
use super::telemetry::Telemetry;
use super::webhooks::Webhooks;

/// All of it. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The HTTP API: its listeners, and who sees the metrics.
    pub http: Http,
    /// The SMTP relay: its listeners, its certificate, and what a session may use.
    pub smtp: Smtp,
    /// The certificate of both, from a certificate authority (CA) by ACME.
    pub acme: Acme,
    /// Where the server keeps its data.
    pub store: Store,
    /// This server among those that share a database. With a file there is one, and it has all the work.
    pub node: Node,
    /// How messages leave: routes, smarthosts, and how gently destinations are treated.
    pub delivery: Delivery,
    /// The listener for bounces and complaints, and how long they suppress an address.
    pub bounces: Bounces,
    /// The name servers, and the limits of lookups.
    pub dns: Dns,
    /// Sender domains: what they publish for this server, and when they are checked.
    pub domains: Domains,
    /// Webhooks: where events may be posted to, and how often.
    pub webhooks: Webhooks,
    /// When an account gets the event that its credits run out.
    pub credits: Credits,
    /// By which name people reach the dashboard, and with what the server sends them e-mails.
    pub people: People,
    /// How often the server looks whether it is well, whom it asks, and who hears of it.
    pub health: Health,
    /// The sandbox inbox, which takes what must not leave the server.
    pub inbox: Inbox,
    /// The operator's plugins: which are trusted, and what they may use.
    pub plugins: Plugins,
    /// How long messages are kept. 0 days mean for ever: the disk fills up then. The ledger is always kept.
    pub retention: Retention,
    /// Backups: whether the server takes them by itself, where they are kept, and who can open them.
    pub backup: Backup,
    /// What one client, one account and all clients together may use of the HTTP API.
    pub limits: Limits,
    /// The log.
    pub log: Log,
    /// Where traces go.
    pub telemetry: Telemetry,
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
