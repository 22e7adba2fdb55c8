//! Builds what verifies sender domains and what signs for them, and hands the settings of a running server to the
//! command line.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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

/// Why the verifier cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Resolver(#[from] ResolverError),
}

/// The settings of a running server that the command line needs, to judge domains as the server does.
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

/// Notes the server's settings for the command line.
///
/// # Errors
/// The database failed.
pub async fn note_settings(config: &Config, store: &Store) -> Result<(), StoreError> {
    let rules = check_settings(config);
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
        rules: check_settings(config),
    }))
}

pub fn dkim_signer(
    data: &DataDir,
    facts: &Arc<Facts>,
    clock: &Clock,
) -> Result<DkimSigner, DataDirError> {
    let keys = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    Ok(DkimSigner::new(Arc::clone(facts), keys, clock.clone()))
}

/// The resolver for the records of sender domains.
pub fn resolver(config: &Config, clock: &Clock) -> Result<Resolver, ResolverError> {
    paced_resolver(config, config.dns.concurrent, config.dns.queries_per_second, clock)
}

/// Where the system names no server, 127.0.0.1 is asked, as the C library does: so a laptop without a network
/// still starts.
pub fn paced_resolver(
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

#[must_use]
pub fn check_settings(config: &Config) -> DomainCheckSettings {
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
    async fn the_command_line_judges_with_the_eyes_of_the_server() {
        let (_directory, _data, store) = data().await;
        let mut server = Config::default();
        server.dns.nameservers = vec!["127.0.0.1:5300".to_owned().try_into().expect("valid")];
        server.smtp.hostname = Some("mail.example.net".parse().expect("valid"));
        note_settings(&server, &store).await.expect("noted");
        let mut adopted = Config::default();
        adopt_settings(&mut adopted, &store).await.expect("adopted");
        assert_eq!(adopted.dns, server.dns);
        assert_eq!(check_settings(&adopted).return_path_host, "bounce.mail.example.net");
    }
}
