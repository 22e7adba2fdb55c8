//! What posts events to webhooks, by the configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::domains;
use super::tasks::Tasks;
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::dns::ResolverError;
use crate::journey::event::guard::{Guard, Schemes};
use crate::journey::event::post::{NoClient, Poster};
use crate::journey::event::schedule::Schedule;
use crate::journey::event::{Rules, Webhooks};
use crate::store::seal::{Purpose, Seal};
use crate::store::{Store, StoreError};

/// Why nothing can be posted.
#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    /// The master key.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The name servers.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// The client.
    #[error(transparent)]
    Client(#[from] NoClient),
    /// The certificates that are trusted.
    #[error("[webhooks] ca_file {path} holds no certificates: {source}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// TLS.
    #[error("[webhooks] ca_file cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

const SETTINGS: &str = "settings of webhooks";

/// The webhooks of a server.
///
/// # Errors
/// See [`WebhooksError`].
pub fn webhooks(
    config: &Config,
    data: &DataDir,
    store: Store,
    clock: &Clock,
) -> Result<Arc<Webhooks>, WebhooksError> {
    let settings = &config.webhooks;
    let guard = Arc::new(Guard {
        schemes: if settings.allow_http { Schemes::HttpToo } else { Schemes::Https },
        allowed: settings.allow_private.clone(),
    });
    // Look-ups of its own: an end point must not use up those of sender domains.
    let resolver = domains::resolver(config, clock)?;
    let time = Duration::from_secs(settings.timeout_s);
    let tls = tls(settings)?;
    let poster = Poster::new(Arc::clone(&guard), resolver, tls, time, clock.clone())?;
    let pauses = settings.retry_pauses_s.iter().copied().map(Duration::from_secs);
    let rules = Rules {
        schedule: Schedule::with_pauses(pauses.collect()),
        concurrent: settings.concurrent,
        concurrent_per_webhook: settings.concurrent_per_webhook,
        per_owner: settings.per_account,
        give_up: Duration::from_secs(settings.disable_after_s),
    };
    let secrets = Seal::new(&data.master_key()?, Purpose::Webhooks);
    Ok(Arc::new(Webhooks::new(store, secrets, clock.clone(), guard, poster, rules)))
}

/// Makes them and starts what hands events to them and posts.
///
/// # Errors
/// See [`WebhooksError`].
pub async fn start(
    config: &Config,
    data: &DataDir,
    store: &Store,
    clock: &Clock,
    (core, stop): (&Tasks, &CancellationToken),
) -> Result<Arc<Webhooks>, WebhooksError> {
    note_settings(config, store).await?;
    let webhooks = webhooks(config, data, store.clone(), clock)?;
    core.start("webhook events", Arc::clone(&webhooks).publish(stop.clone()));
    core.start("webhooks", Arc::clone(&webhooks).send(stop.clone()));
    Ok(webhooks)
}

/// Notes the server's settings for the command line.
///
/// # Errors
/// The database failed.
pub async fn note_settings(config: &Config, store: &Store) -> Result<(), StoreError> {
    let noted = serde_json::to_string(&config.webhooks).unwrap_or_default();
    // A full disk is no reason not to start.
    if store.noted(SETTINGS).await?.as_ref() == Some(&noted) {
        return Ok(());
    }
    store.note(SETTINGS, &noted).await
}

/// Puts what a server has noted in the place of the command line's own settings.
///
/// # Errors
/// The database failed.
pub async fn adopt_settings(config: &mut Config, store: &Store) -> Result<(), StoreError> {
    let noted = store.noted(SETTINGS).await?;
    if let Some(noted) = noted.and_then(|it| serde_json::from_str(&it).ok()) {
        config.webhooks = noted;
    }
    Ok(())
}

/// The authorities of the system, and those of the operator.
///
/// # Errors
/// See [`WebhooksError`].
pub fn tls(settings: &config::Webhooks) -> Result<ClientConfig, WebhooksError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "certificates of the system cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = &settings.ca_file {
        let unreadable = |source| WebhooksError::Authorities { path: path.clone(), source };
        for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
            roots.add(certificate.map_err(unreadable)?)?;
        }
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
