//! Opens the ports of the relay, with certificate and limits; the server does not start without one of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use waxwing_smtp::server::dialog::{BareNewline, Dialog, Dismissal, Security, SessionSettings};

use super::connection_limits::{self, ConnectionSlots, Protocol};
use super::data_dir::{DataDir, DataDirError};
use super::smtp::{self, SmtpListener};
use super::start_error::StartError;
use super::tasks::Tasks;
use super::tcp_listener::bind;
use super::tls::{self, CertificateError, Certificates, Watch};
use crate::clock::Clock;
use crate::config::{self, Config, Hostname, InsufficientBalance, Smtp};
use crate::fair_share::FairShare;
use crate::journey::Journey;
use crate::relay::reply::Unpaid;
use crate::relay::session::{self, Entry};
use crate::relay::{Bounds, Limits, Relay};

/// The ports, bound and not served yet.
#[derive(Debug)]
pub struct Ports {
    starttls: Vec<(TcpListener, SocketAddr)>,
    tls: Vec<(TcpListener, SocketAddr)>,
    certificates: Option<Arc<Certificates>>,
    watch: Option<Watch>,
    hostname: Hostname,
}

/// What of the relay can be exchanged while it runs.
#[derive(Debug)]
pub struct LiveRelay {
    relay: Arc<Relay>,
    slots: Arc<ConnectionSlots>,
    hostname: Hostname,
}

/// Why the certificate that the configuration names cannot be used. Without a port it is not read.
#[must_use]
pub fn check_certificate(config: &Config) -> Vec<CertificateError> {
    if needs_certificate(config) { tls::check(&config.smtp) } else { Vec::new() }
}

/// Whether a self-signed certificate could be made, where one is needed.
///
/// # Errors
/// Its directory cannot be used.
pub fn check_self_signed(config: &Config, data: &DataDir) -> Result<(), DataDirError> {
    let smtp = &config.smtp;
    let is_named = smtp.certificate.is_some() || smtp.private_key.is_some();
    if needs_certificate(config) && !is_named { data.check_tls() } else { Ok(()) }
}

/// Whether a port of the relay, or that of HTTPS, is there.
pub fn needs_certificate(config: &Config) -> bool {
    has_port(&config.smtp) || config.http.tls_listen.address().is_some()
}

fn has_port(smtp: &Smtp) -> bool {
    !(smtp.starttls_addresses().is_empty() && smtp.tls_addresses().is_empty())
}

impl Ports {
    /// Binds what the configuration names, and loads the certificate for it.
    ///
    /// # Errors
    /// A port is taken, or the certificate cannot be used.
    pub async fn open(config: &Config, data: &DataDir, clock: &Clock) -> Result<Self, StartError> {
        let smtp = &config.smtp;
        let hostname = smtp::hostname(smtp);
        let (mut starttls, mut tls) = (Vec::new(), Vec::new());
        for address in smtp.starttls_addresses() {
            starttls.push(bind(*address, "[smtp] listen_starttls").await?);
        }
        for address in smtp.tls_addresses() {
            tls.push(bind(*address, "[smtp] listen_tls").await?);
        }
        let (mut certificates, mut watch) = (None, None);
        if needs_certificate(config) {
            let settings = (smtp, &config.acme);
            let opened = Arc::new(Certificates::open(settings, data, &hostname, clock.clone())?);
            watch = Some(Watch::new(Arc::clone(&opened)).map_err(StartError::Signals)?);
            certificates = Some(opened);
        }
        Ok(Self { starttls, tls, certificates, watch, hostname })
    }

    /// Where it listens with STARTTLS.
    #[must_use]
    pub fn starttls_addresses(&self) -> Vec<SocketAddr> {
        self.starttls.iter().map(|(_, address)| *address).collect()
    }

    /// Where it listens with TLS from the first byte.
    #[must_use]
    pub fn tls_addresses(&self) -> Vec<SocketAddr> {
        self.tls.iter().map(|(_, address)| *address).collect()
    }

    /// What a client must trust, where the certificate is our own.
    #[must_use]
    pub fn ca_file(&self) -> Option<PathBuf> {
        self.certificates.as_ref().and_then(|it| it.ca_file())
    }

    /// The certificate, for another port; none where neither of these is there.
    #[must_use]
    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.certificates.as_ref().map(|it| it.server_config())
    }

    /// The certificate itself; none where no port has one.
    #[must_use]
    pub fn certificates(&self) -> Option<Arc<Certificates>> {
        self.certificates.clone()
    }

    /// Serves the ports until `stop`; none where there is no certificate, and so no port.
    pub fn serve(
        self,
        config: &Config,
        journey: Arc<Journey>,
        listeners: &Tasks,
        stop: &CancellationToken,
    ) -> Option<LiveRelay> {
        let smtp = &config.smtp;
        let Self { starttls, tls, certificates, watch, hostname } = self;
        let certificates = certificates?;
        if let Some(watch) = watch {
            listeners.start("certificates", watch.run(stop.clone()));
        }
        let limits = limits(smtp, &hostname);
        let no_slot_reply = no_slot_reply(&limits.settings);
        let relay = Arc::new(Relay {
            journey,
            limits: ArcSwap::from_pointee(limits),
            memory: FairShare::new(Relay::blocks(smtp.memory_bytes)),
        });
        let slots = ConnectionSlots::new(Protocol::Smtp, slots(smtp));
        let starttls = starttls.into_iter().map(|(listener, _)| (listener, Entry::StartTls));
        let tls = tls.into_iter().map(|(listener, _)| (listener, Entry::Implicit));
        for (listener, entry) in starttls.chain(tls) {
            // Where TLS comes first there are no words before it.
            let no_slot_reply = match entry {
                Entry::StartTls => no_slot_reply.clone(),
                Entry::Implicit => Vec::new(),
            };
            let (relay, acceptor, ending) =
                (Arc::clone(&relay), certificates.server_config(), stop.clone());
            let session = move |stream, peer: SocketAddr| {
                let (relay, acceptor) = (Arc::clone(&relay), Arc::clone(&acceptor));
                let ending = ending.clone();
                async move {
                    session::serve(&relay, stream, peer.ip(), entry, acceptor, ending).await;
                }
            };
            let name = match entry {
                Entry::StartTls => "SMTP with STARTTLS",
                Entry::Implicit => "SMTP with TLS",
            };
            let trusted_proxies = smtp.trusted_proxies.clone();
            let smtp_listener = SmtpListener { name, listener, no_slot_reply, trusted_proxies };
            listeners.start(
                "smtp",
                smtp::serve(smtp_listener, Arc::clone(&slots), session, stop.clone()),
            );
        }
        Some(LiveRelay { relay, slots, hostname })
    }
}

impl LiveRelay {
    /// Replaces the limits in use. Sessions that have begun keep theirs.
    pub fn apply(&self, config: &Config) {
        let smtp = &config.smtp;
        self.slots.set_bounds(slots(smtp));
        self.relay.memory.resize(Relay::blocks(smtp.memory_bytes));
        self.relay.limits.store(Arc::new(limits(smtp, &self.hostname)));
    }
}

fn slots(smtp: &Smtp) -> connection_limits::Bounds {
    connection_limits::Bounds {
        connections: smtp.connections,
        connections_per_ip: smtp.connections_per_ip,
    }
}

fn limits(smtp: &Smtp, hostname: &Hostname) -> Limits {
    Limits {
        settings: Arc::new(SessionSettings {
            hostname: hostname.as_str().to_owned(),
            message_bytes: smtp.message_bytes,
            recipients: smtp.recipients,
            bare_newline: match smtp.bare_newline {
                config::BareNewline::Normalise => BareNewline::Normalise,
                config::BareNewline::Refuse => BareNewline::Refuse,
            },
        }),
        unpaid: match smtp.insufficient_balance {
            InsufficientBalance::Temporary => Unpaid::Temporary,
            InsufficientBalance::Permanent => Unpaid::Permanent,
        },
        bounds: Bounds {
            login: Duration::from_secs(smtp.login_seconds),
            idle: Duration::from_secs(smtp.idle_seconds),
            data: Duration::from_secs(smtp.data_seconds),
        },
        user_names: smtp.user_names.clone(),
    }
}

/// The reply to a client beyond the bounds on connections.
fn no_slot_reply(settings: &Arc<SessionSettings>) -> Vec<u8> {
    let mut dialog = Dialog::new(Arc::clone(settings), Security::Plain);
    dialog.output().clear();
    dialog.dismiss(Dismissal::TooManyConnections);
    std::mem::take(dialog.output())
}
