//! What the checks look at: handles of a server that runs, or what is known of one that does not.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::clock::{Clock, Timestamp};
use crate::delivery::routing::mx::StsPolicyFetcher;
use crate::dns::Resolver;
use crate::message::address::EmailAddress;
use crate::plugin::Plugins;
use crate::store::Store;

/// Everything that a check may look at.
#[derive(Debug)]
pub struct World {
    pub clock: Clock,
    pub resolver: Resolver,
    /// Reads the MTA-STS policy of the host of return paths.
    pub policies: StsPolicyFetcher,
    pub settings: HealthSettings,
    pub reloadable: ArcSwap<ReloadableSettings>,
    pub egress: Tell<Egress>,
    pub certificate: Tell<CertificateView>,
    pub server: ServerView,
}

/// The settings that the checks depend on, and that hold until the server ends.
#[derive(Debug)]
pub struct HealthSettings {
    /// The name in EHLO.
    pub hostname: String,
    pub spf_include: String,
    pub return_path_host: String,
    /// Whether this server listens for bounces and complaints.
    pub takes_reports: bool,
    /// Source addresses of outgoing connections; empty for those of the system.
    pub source_addresses: Vec<IpAddr>,
    pub data_dir: PathBuf,
    /// Files that nobody but the server's user may read.
    pub secrets: Vec<PathBuf>,
    /// The key of the certificate that the configuration names, which a group may read.
    pub private_key: Option<PathBuf>,
    /// From one backup to the next, where the server takes them by itself.
    pub backup_every: Option<Duration>,
}

/// The settings that a reload replaces: those of `[health]`.
#[derive(Debug, Clone)]
pub struct ReloadableSettings {
    pub block_lists: Vec<String>,
    pub port_25_domain: Option<String>,
    /// Host and port.
    pub time_server: Option<(String, u16)>,
    /// From this age on a DKIM key is old; none for never.
    pub dkim_key_age: Option<Duration>,
    /// Between two runs.
    pub every: Duration,
    /// Who gets an e-mail when a check turns.
    pub notify: Vec<EmailAddress>,
}

/// Where mail goes that leaves this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Egress {
    /// Some of it to the recipients' own mail exchangers, at this port.
    Direct { port: u16 },
    /// Through smarthosts only, or into the sandbox inbox.
    Elsewhere,
}

/// The certificate of the server's ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateView {
    /// No port needs one.
    NotNeeded,
    Loaded {
        ends: Timestamp,
        naming: Naming,
        renewal: Renewal,
    },
    /// Its files cannot be used.
    Faulty(String),
    /// A self-signed one is shown until a CA has issued one; why the last order brought none.
    StandIn(Option<String>),
    /// There is none before the server runs; where it comes from then.
    NotYet(&'static str),
}

/// Who sees to it that a new certificate is there in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// Whoever puts its files where the configuration says.
    ByHand,
    /// The server, which orders it at a CA; why the last order brought none.
    ByOrder(Option<String>),
}

/// Whether a certificate names the host of `smtp.hostname`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    ThisHost,
    OtherHosts,
    /// No host name is configured to compare it with.
    NotCompared,
}

/// The server that the checks are about.
#[derive(Debug)]
pub enum ServerView {
    /// This process.
    Running(Box<Live>),
    /// None; where one was looked for.
    Stopped(String),
    /// Another process holds the data directory and does not answer; what was tried.
    Silent(String),
}

/// The parts of a server that runs.
#[derive(Debug)]
pub struct Live {
    pub started_at: Timestamp,
    pub store: Store,
    pub plugins: Arc<Plugins>,
    pub listeners: Vec<Listener>,
    /// File descriptors that the configured connections need.
    pub wanted_descriptors: u64,
    /// Why the next start would not get its master key.
    pub key_fault: Tell<Option<String>>,
}

/// A port that the server has bound.
#[derive(Debug)]
pub struct Listener {
    /// The setting that it comes from.
    pub setting: &'static str,
    pub address: SocketAddr,
}

/// Tells what may change while the server runs.
pub struct Tell<T>(Arc<dyn Fn() -> T + Send + Sync>);

impl World {
    /// The parts of a server that runs.
    ///
    /// # Errors
    /// None runs; why a check that needs one cannot be made.
    pub fn live(&self) -> Result<&Live, &str> {
        match &self.server {
            ServerView::Running(live) => Ok(live),
            ServerView::Stopped(why) | ServerView::Silent(why) => Err(why),
        }
    }
}

impl<T> Tell<T> {
    pub fn new(tell: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    #[must_use]
    pub fn now(&self) -> T {
        (self.0)()
    }
}

impl<T> Clone for Tell<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Tell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}
