//! The listener for reports: its port, its bounds, its certificate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connection_limits::{self, ConnectionSlots, Protocol};
use super::data_dir::DataDir;
use super::domain_checks::{VerifierError, check_settings};
use super::resolvers::resolver;
use super::smtp::{self, SmtpListener};
use super::start_error::StartError;
use super::tasks::Tasks;
use super::tcp_listener::bind;
use crate::clock::Clock;
use crate::config::Config;
use crate::relay::bounces::dialog::{Dialog, Dismissal, ListenerSettings, Protection};
use crate::relay::bounces::session::{self, Bounds, Listener};
use crate::relay::bounces::{Addresses, Intake, Reporters, SuppressionSettings};

use crate::store::Store;

/// RFC 5321 section 4.5.3.2 wants five minutes for a command; between two messages less will do.
const BOUNDS: Bounds = Bounds {
    opening: Duration::from_mins(1),
    idle: Duration::from_mins(5),
    data: Duration::from_mins(10),
    session: Duration::from_mins(30),
};

/// The port, bound and not served yet.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
    settings: Arc<ListenerSettings>,
    intake: Intake,
}

impl Port {
    /// Binds what the configuration names; nothing where it names nothing.
    ///
    /// # Errors
    /// The port is taken, the master key cannot be read, or no name server is known.
    pub async fn open(
        config: &Config,
        data: &DataDir,
        store: &Store,
        clock: &Clock,
    ) -> Result<Option<Self>, StartError> {
        let Some(address) = config.bounces.address() else { return Ok(None) };
        let (listener, address) = bind(address, "[bounces] listen").await?;
        let rules = SuppressionSettings {
            bounce_suppression: config.bounces.bounce_suppression(),
            complaint_suppression: config.bounces.complaint_suppression(),
        };
        let feedback = config.bounces.feedback.clone();
        let addresses = Arc::new(Addresses {
            verp: data.verp()?,
            feedback,
            hostname: smtp::hostname(&config.smtp).as_str().to_owned(),
            return_path_host: check_settings(config).return_path_host,
        });
        let reporters = Reporters {
            named: config.bounces.reporters.clone(),
            networks: config.bounces.reporter_networks.clone(),
            feedback: config.bounces.feedback.clone(),
            resolver: resolver(config, clock).map_err(VerifierError::from)?,
            clock: clock.clone(),
        };
        let intake =
            Intake::new(store.clone(), clock.clone(), Arc::clone(&addresses), reporters, rules);
        let settings = Arc::new(ListenerSettings {
            hostname: smtp::hostname(&config.smtp).as_str().to_owned(),
            message_bytes: config.bounces.message_bytes,
            addresses,
        });
        Ok(Some(Self { listener, address, settings, intake }))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves it until `stop`, with STARTTLS where there is a certificate.
    pub fn serve(
        self,
        config: &Config,
        tls: Option<Arc<rustls::ServerConfig>>,
        listeners: &Tasks,
        stop: &CancellationToken,
    ) {
        let bounds = connection_limits::Bounds {
            connections: config.bounces.connections,
            connections_per_ip: config.bounces.connections_per_ip,
        };
        let slots = ConnectionSlots::new(Protocol::Smtp, bounds);
        let Self { listener, settings, intake, .. } = self;
        let no_slot_reply = no_slot_reply(&settings);
        let smtp_listener =
            SmtpListener { name: "reports", listener, no_slot_reply, trusted_proxies: Vec::new() };
        let served = Arc::new(Listener { settings, intake, bounds: BOUNDS, tls });
        let ending = stop.clone();
        let session = move |stream, peer: SocketAddr| {
            let (served, ending) = (Arc::clone(&served), ending.clone());
            async move { session::serve(&served, stream, peer.ip(), ending).await }
        };
        listeners.start("reports", smtp::serve(smtp_listener, slots, session, stop.clone()));
    }
}

/// The reply to a client beyond the bounds on connections.
fn no_slot_reply(settings: &Arc<ListenerSettings>) -> Vec<u8> {
    let mut dialog = Dialog::new(Arc::clone(settings), Protection::None);
    dialog.output().clear();
    dialog.dismiss(Dismissal::TooManyConnections);
    std::mem::take(dialog.output())
}
