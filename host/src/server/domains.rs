//! What verifies sender domains, by the configuration, and what signs for them.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::data_dir::{DataDir, DataDirError};
use super::smtp;
use crate::clock::Clock;
use crate::config::{Config, Dns, Domains, Hostname};
use crate::delivery::attempt::dkim::DkimSigner;
use crate::dns::{Resolver, ResolverError, Settings};
use crate::domain::verification::Schedule;
use crate::plugin::Plugins;
use crate::store::facts::Facts;
use crate::store::seal::{Purpose, Seal};
use crate::store::{Store, StoreError};
use crate::upkeep::verify_domains::{AccountPermits, DomainCheckSettings, Verifier};

/// Why nothing can be opened that the server has sealed.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// The key cannot be read.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// DKIM keys would not open, and new ones could not be opened with the right key.
    #[error(
        "{path} is not the key that this data was made with (a new one is made where it is missing); \
         restore it from your backup"
    )]
    Another { path: PathBuf },
}

/// Why domains cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    /// The master key.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The name servers.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
}

/// What the server does about domains, noted for the command line: it must judge them with the same
/// eyes and for the same hosts.
#[derive(Debug, Deserialize)]
struct Noted {
    dns: Dns,
    domains: Domains,
    plugins: NotedPlugins,
}

/// Where the policy is, and how many of its recorded calls are kept.
#[derive(Debug, Deserialize)]
struct NotedPlugins {
    dir: Option<PathBuf>,
    samples_kept: u32,
}

const SETTINGS: &str = "settings of sender domains";
const PROOF: &str = "proof of the master key";

/// Notes the server's settings for the command line.
///
/// # Errors
/// The database failed.
pub async fn note_settings(config: &Config, store: &Store) -> Result<(), StoreError> {
    let rules = rules(config);
    let host = |name: &str| name.parse().ok();
    let domains = Domains {
        spf_include: host(&rules.spf_include),
        return_path_host: host(&rules.return_path_host),
        ..config.domains.clone()
    };
    let dir = config.plugins.dir.as_ref().and_then(|dir| std::path::absolute(dir).ok());
    let plugins = json!({"dir": dir, "samples_kept": config.plugins.samples_kept});
    let noted = json!({"dns": config.dns, "domains": domains, "plugins": plugins}).to_string();
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
    if let Some(noted) = noted.and_then(|it| serde_json::from_str::<Noted>(&it).ok()) {
        (config.dns, config.domains) = (noted.dns, noted.domains);
        config.plugins.dir = noted.plugins.dir;
        config.plugins.samples_kept = noted.plugins.samples_kept;
    }
    Ok(())
}

/// Makes sure that the master key is the one that this database was made with.
///
/// # Errors
/// It is another one, cannot be read, or the database failed.
pub async fn prove_master_key(data: &DataDir, store: &Store) -> Result<(), MasterKeyError> {
    let seal = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    match store.noted(PROOF).await? {
        Some(noted) => {
            let sealed = STANDARD.decode(noted).unwrap_or_default();
            let path = data.file("master.key");
            seal.open(PROOF, &sealed).map(drop).map_err(|_| MasterKeyError::Another { path })
        }
        None => Ok(store.note(PROOF, &STANDARD.encode(seal.seal(PROOF, b"proof"))).await?),
    }
}

/// What verifies the sender domains of a server.
pub fn verifier(
    config: &Config,
    data: &DataDir,
    store: Store,
    plugins: Arc<Plugins>,
    clock: &Clock,
) -> Result<Arc<Verifier>, VerifierError> {
    let master = data.master_key()?;
    Ok(Arc::new(Verifier {
        store,
        plugins,
        resolver: resolver(config, clock)?,
        keys: Seal::new(&master, Purpose::DkimKeys),
        samples: Arc::new(Seal::new(&master, Purpose::Samples)),
        clock: clock.clone(),
        permits: AccountPermits::default(),
        rules: rules(config),
    }))
}

/// What signs with the keys of sender domains.
///
/// # Errors
/// The master key cannot be read.
pub fn dkim_signer(
    data: &DataDir,
    facts: &Arc<Facts>,
    clock: &Clock,
) -> Result<DkimSigner, DataDirError> {
    let keys = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    Ok(DkimSigner::new(Arc::clone(facts), keys, clock.clone()))
}

/// What asks for the records of sender domains, in bounds.
///
/// # Errors
/// No name server is known.
pub fn resolver(config: &Config, clock: &Clock) -> Result<Resolver, ResolverError> {
    paced(config, config.dns.concurrent, config.dns.queries_per_second, clock)
}

/// A machine that names no server has one of its own, as its C library has it: so a laptop without a
/// network still starts.
///
/// # Errors
/// No name server is known.
pub fn paced(
    config: &Config,
    concurrent: usize,
    per_second: NonZeroU32,
    clock: &Clock,
) -> Result<Resolver, ResolverError> {
    let dns = &config.dns;
    let mut settings = Settings {
        nameservers: dns.nameservers.iter().map(|it| it.0).collect(),
        timeout: Duration::from_millis(dns.timeout_ms),
        tries: dns.tries,
        concurrent,
        per_second,
    };
    match Resolver::new(&settings, clock.clone()) {
        Err(error) if settings.nameservers.is_empty() => {
            tracing::warn!(%error, "domains are looked up at 127.0.0.1:53");
            settings.nameservers = vec![SocketAddr::from(([127, 0, 0, 1], 53))];
            Resolver::new(&settings, clock.clone())
        }
        made => made,
    }
}

/// What the operator decides about sender domains.
#[must_use]
pub fn rules(config: &Config) -> DomainCheckSettings {
    let domains = &config.domains;
    let hostname = smtp::hostname(&config.smtp);
    let or_below = |name: &Option<Hostname>, label: &str| {
        let configured = name.as_ref().map(|it| it.as_str().to_owned());
        configured.unwrap_or_else(|| format!("{label}.{}", hostname.as_str()))
    };
    DomainCheckSettings {
        spf_include: or_below(&domains.spf_include, "spf"),
        return_path_host: or_below(&domains.return_path_host, "bounce"),
        schedule: Schedule {
            first: Duration::from_secs(domains.first_check_s),
            regular: Duration::from_secs(domains.check_every_s),
            grace: Duration::from_secs(domains.grace_s),
            give_up: Duration::from_secs(domains.give_up_s),
        },
        concurrent: domains.concurrent_checks,
        per_account: domains.per_account,
        samples_kept: config.plugins.samples_kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn data() -> (tempfile::TempDir, DataDir, Store) {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("opened");
        let store = Store::open(&data.database().expect("made")).await.expect("opens");
        (directory, data, store)
    }

    #[tokio::test]
    async fn another_master_key_is_noticed_before_anything_is_sealed_with_it() {
        let (_directory, data, store) = data().await;
        prove_master_key(&data, &store).await.expect("a new one");
        prove_master_key(&data, &store).await.expect("the same");
        std::fs::remove_file(data.file("master.key")).expect("removed");
        let another = prove_master_key(&data, &store).await;
        assert!(matches!(another, Err(MasterKeyError::Another { .. })), "{another:?}");
    }

    #[tokio::test]
    async fn the_command_line_judges_with_the_eyes_of_the_server() {
        let (_directory, _data, store) = data().await;
        let mut server = Config::default();
        server.dns.nameservers = vec!["127.0.0.1:5300".to_owned().try_into().expect("valid")];
        server.smtp.hostname = Some("mail.example.net".parse().expect("valid"));
        note_settings(&server, &store).await.expect("noted");
        let mut adopted = Config::default();
        adopt_settings(&mut adopted, &store).await.expect("adopted");
        assert_eq!(adopted.dns, server.dns);
        assert_eq!(rules(&adopted).return_path_host, "bounce.mail.example.net");
    }
}
