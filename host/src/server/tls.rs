//! TLS of the relay's ports: a certificate that is exchanged while they run. What cannot be used
//! never takes the place of what can, and sessions live on over an exchange.

mod error;
mod expiry;
mod pem;
mod provider;
mod self_signed;
mod setting;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, NoServerSessionStorage, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use super::data_dir::DataDir;
use crate::clock::{Clock, Timestamp};
use crate::config::{Hostname, Smtp};
use pem::{Digest, Files, Loaded, Pair};
use provider::provider;
use self_signed::SelfSignedCertificate;

pub use error::CertificateError;
pub use setting::{File, Setting};
pub use watch::Watch;

/// The certificate of the relay's ports.
#[derive(Debug)]
pub struct Certificates {
    pair: Pair,
    self_signed: Option<SelfSignedCertificate>,
    live: Arc<Live>,
    /// What was read last, whether it could be used or not.
    seen: Mutex<Digest>,
    config: Arc<ServerConfig>,
    clock: Clock,
}

/// What the next handshake shows.
#[derive(Debug)]
struct Live(ArcSwap<Loaded>);

/// Why the certificate and the key that the configuration names cannot be used together.
#[must_use]
pub fn check(smtp: &Smtp) -> Vec<CertificateError> {
    named(smtp).map(|pair| pair.faults()).unwrap_or_default()
}

/// When the certificate that the configuration names ends, and whether it names a host; none where it names none.
///
/// # Errors
/// Its files cannot be used; every reason.
#[must_use]
pub fn look(smtp: &Smtp, host: &str) -> Option<Result<(Timestamp, bool), Vec<CertificateError>>> {
    let pair = named(smtp)?;
    let faults = pair.faults();
    if !faults.is_empty() {
        return Some(Err(faults));
    }
    let loaded = pair.read().and_then(|files| pair.load(&files));
    Some(loaded.map(|it| (it.expires_at, it.names(host))).map_err(|error| vec![error]))
}

/// The certificate and the key that the configuration names.
fn named(smtp: &Smtp) -> Option<Pair> {
    Some(Pair::new(smtp.certificate.as_ref()?, smtp.private_key.as_ref()?))
}

impl Certificates {
    /// Loads what the configuration names; a self-signed certificate, made where there is none yet
    /// or where it ends soon, if it names nothing.
    pub fn open(
        smtp: &Smtp,
        data: &DataDir,
        hostname: &Hostname,
        clock: Clock,
    ) -> Result<Self, CertificateError> {
        let (pair, self_signed) = if let Some(pair) = named(smtp) {
            (pair, None)
        } else {
            let self_signed = SelfSignedCertificate::new(data.tls()?, hostname);
            (self_signed.pair(), Some(self_signed))
        };
        if let Some(self_signed) = &self_signed {
            self_signed.keep_fresh(clock.now())?;
        }
        let files = pair.read()?;
        let loaded = pair.load(&files)?;
        let live = Arc::new(Live(ArcSwap::from_pointee(loaded)));
        let config = Arc::new(server_config(Arc::clone(&live))?);
        let seen = Mutex::new(files.digest());
        let certificates = Self { pair, self_signed, live, seen, config, clock };
        certificates.report();
        Ok(certificates)
    }

    /// What an acceptor needs; it shows whatever certificate is live at the moment of a handshake.
    #[must_use]
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// What a client must trust, where the certificate is self-signed; an absolute path.
    #[must_use]
    pub fn ca_file(&self) -> Option<PathBuf> {
        self.self_signed.as_ref().map(SelfSignedCertificate::ca_file)
    }

    /// When the live certificate ends.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.live.0.load().expires_at
    }

    /// Whether clients that connect to that host accept the live certificate as its own.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        self.live.0.load().names(host)
    }

    /// Loads the files again; the next handshake shows what is in them.
    ///
    /// # Errors
    /// They cannot be used. What was live stays live.
    pub fn reload(&self) -> Result<(), CertificateError> {
        self.look_again(None).unwrap_or(Ok(()))
    }

    /// As [`Certificates::reload`], but only if the files are not those of the last time.
    ///
    /// # Errors
    /// As there; the same files are complained about once.
    pub fn reload_if_changed(&self) -> Option<Result<(), CertificateError>> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.look_again(Some(seen))
    }

    fn look_again(&self, seen: Option<Digest>) -> Option<Result<(), CertificateError>> {
        let read = self.read();
        let digest = match &read {
            Ok(files) => files.digest(),
            Err(error) => Digest::of(error),
        };
        if seen == Some(digest) {
            return None;
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = digest;
        Some(read.and_then(|files| self.pair.load(&files)).map(|loaded| {
            self.live.0.store(Arc::new(loaded));
            self.report();
        }))
    }

    fn read(&self) -> Result<Files, CertificateError> {
        if let Some(self_signed) = &self.self_signed {
            self_signed.keep_fresh(self.clock.now())?;
        }
        self.pair.read()
    }

    fn report(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("waxwing_tls_certificate_expires_seconds")
            .set((self.expires_at().millis() / 1_000) as f64);
        if self.pair.key_is_exposed() {
            let key = &self.pair.private_key;
            tracing::warn!("{key} can be read by every user of this machine; chmod o-r it");
        }
    }
}

fn server_config(live: Arc<Live>) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(live);
    // A resumed session saves the signature, which is most of what a short session costs. Tickets
    // are kept by the clients; nothing is kept here.
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

impl Loaded {
    fn names(&self, host: &str) -> bool {
        let Ok(certificate) = self.key.end_entity_cert() else { return false };
        let Ok(certificate) = ParsedCertificate::try_from(certificate) else { return false };
        ServerName::try_from(host).is_ok_and(|it| verify_server_name(&certificate, &it).is_ok())
    }
}

impl ResolvesServerCert for Live {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.load().key))
    }
}

#[cfg(test)]
mod tests;
