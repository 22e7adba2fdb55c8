//! TLS of the ports: a certificate that is exchanged while they run. What cannot be used never takes the place of what
//! can, and sessions live on over an exchange.

mod error;
mod issued;
mod pem;
mod provider;
mod self_signed;
mod setting;
mod watch;
mod x509;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use super::data_dir::DataDir;
use crate::clock::{Clock, Timestamp};
use crate::config::{Acme, Hostname, Smtp};
use pem::{Digest, Files, Loaded, Pair};
use provider::provider;
use self_signed::SelfSignedCertificate;

pub use error::CertificateError;
pub use issued::Issued;
pub use setting::{File, Setting};
pub use watch::Watch;

/// The certificate of the ports.
#[derive(Debug)]
pub struct Certificates {
    /// What a CA issues by ACME; the others stand in until it is there.
    issued: Option<Pair>,
    /// Once set, this process never shows the self-signed certificate again.
    issued_is_live: AtomicBool,
    pair: Pair,
    self_signed: Option<SelfSignedCertificate>,
    live: Arc<Live>,
    seen: Mutex<Seen>,
    config: Arc<ServerConfig>,
    clock: Clock,
}

/// What was read last.
#[derive(Debug)]
struct Seen {
    digest: Digest,
    /// Why it could not be used.
    fault: Option<String>,
}

/// What the next handshake shows.
#[derive(Debug)]
struct Live(ArcSwap<Loaded>);

/// Why the certificate and the key that the configuration names cannot be used together.
#[must_use]
pub fn check(smtp: &Smtp) -> Vec<CertificateError> {
    named(smtp).map(|pair| pair.faults()).unwrap_or_default()
}

/// When the certificate that the configuration names, or that a CA has issued, ends, and whether it names a host; none
/// where there is neither. Nothing is made.
///
/// # Errors
/// Its files cannot be used; every reason.
#[must_use]
pub fn look(
    (smtp, acme): (&Smtp, &Acme),
    data: &DataDir,
    host: &str,
) -> Option<Result<(Timestamp, bool), Vec<CertificateError>>> {
    let issued = || Issued::existing_path(data).filter(|_| acme.enabled);
    let pair = named(smtp).or_else(|| issued().map(|it| Pair::in_one(&it)))?;
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
    /// Loads what the configuration names, or what a CA has issued; else a self-signed certificate, made where there is
    /// none yet or where it ends soon.
    pub fn open(
        (smtp, acme): (&Smtp, &Acme),
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
        let issued = if acme.enabled { Some(Pair::in_one(&Issued::path(data)?)) } else { None };
        let kept = issued.as_ref().and_then(usable);
        let issued_is_live = AtomicBool::new(kept.is_some());
        let (files, loaded) = if let Some(kept) = kept {
            kept
        } else {
            if let Some(self_signed) = &self_signed {
                self_signed.keep_fresh(clock.now())?;
            }
            let files = pair.read()?;
            let loaded = pair.load(&files)?;
            (files, loaded)
        };
        let live = Arc::new(Live(ArcSwap::from_pointee(loaded)));
        let config = Arc::new(server_config(Arc::clone(&live))?);
        let seen = Mutex::new(Seen { digest: files.digest(), fault: None });
        let certificates =
            Self { issued, issued_is_live, pair, self_signed, live, seen, config, clock };
        certificates.report();
        Ok(certificates)
    }

    /// What an acceptor needs; it shows whatever certificate is live at the moment of a handshake.
    #[must_use]
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// What a client must trust, where the certificate is self-signed and stays so; an absolute path.
    #[must_use]
    pub fn ca_file(&self) -> Option<PathBuf> {
        let self_signed = self.self_signed.as_ref().filter(|_| self.issued.is_none());
        self_signed.map(SelfSignedCertificate::ca_file)
    }

    /// When the live certificate ends; none while a self-signed one stands in for one that no CA has issued yet.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        let stands_in = self.issued.is_some() && !self.issued_is_live.load(Ordering::Relaxed);
        (!stands_in).then(|| self.live.0.load().expires_at)
    }

    /// Whether clients that connect to that host accept the live certificate as its own.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        self.live.0.load().names(host)
    }

    /// Why the files, as they were read last, cannot be used; what was live before them is live.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.seen().fault.clone()
    }

    /// Loads the files again; the next handshake shows what is in them. None where the live certificate stays because its
    /// file is gone.
    ///
    /// # Errors
    /// They cannot be used. What was live stays live.
    fn reload(&self) -> Option<Result<(), CertificateError>> {
        self.look_again(None)
    }

    /// As [`Certificates::reload`], but only if the files are not those of the last time.
    ///
    /// # Errors
    /// As there; the same files are complained about once.
    fn reload_if_changed(&self) -> Option<Result<(), CertificateError>> {
        let seen = self.seen().digest;
        self.look_again(Some(seen))
    }

    fn look_again(&self, seen: Option<Digest>) -> Option<Result<(), CertificateError>> {
        let is_removed = self.issued.as_ref().is_some_and(|it| !it.certificate.path.is_file());
        if is_removed && self.issued_is_live.load(Ordering::Relaxed) {
            return None;
        }
        let read = self.read();
        let digest = match &read {
            Ok((_, files)) => files.digest(),
            Err(error) => Digest::of(error),
        };
        if seen == Some(digest) {
            return None;
        }
        let loaded = read.and_then(|(pair, files)| Ok((pair, pair.load(&files)?)));
        let fault = loaded.as_ref().err().map(ToString::to_string);
        *self.seen() = Seen { digest, fault };
        Some(loaded.map(|(pair, loaded)| {
            let is_issued = pair.certificate.setting == Setting::Issued;
            self.issued_is_live.store(is_issued, Ordering::Relaxed);
            self.live.0.store(Arc::new(loaded));
            self.report();
        }))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Result<(&Pair, Files), CertificateError> {
        if let Some(issued) = self.issued.as_ref().filter(|it| it.certificate.path.is_file()) {
            return Ok((issued, issued.read()?));
        }
        if let Some(self_signed) = &self.self_signed {
            self_signed.keep_fresh(self.clock.now())?;
        }
        Ok((&self.pair, self.pair.read()?))
    }

    fn report(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("waxwing_tls_certificate_expires_seconds")
            .set(self.expires_at().map_or(0, |it| it.millis() / 1_000) as f64);
        if self.pair.key_is_exposed() {
            let key = &self.pair.private_key;
            tracing::warn!("{key} can be read by every user of this machine; chmod o-r it");
        }
    }
}

/// What is in a pair of one file, where that is there and can be used.
fn usable(pair: &Pair) -> Option<(Files, Loaded)> {
    if !pair.certificate.path.is_file() {
        tracing::info!(
            "no certificate authority has issued a certificate yet; the ports show a self-signed one until then"
        );
        return None;
    }
    let load = || -> Result<(Files, Loaded), CertificateError> {
        let files = pair.read()?;
        let loaded = pair.load(&files)?;
        Ok((files, loaded))
    };
    load()
        .inspect_err(|error| {
            tracing::error!(%error, "the certificate of the CA cannot be used; a new one is ordered");
        })
        .ok()
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

impl ResolvesServerCert for Live {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.load().key))
    }
}

#[cfg(test)]
mod tests;
