//! What verifies sender domains, by the configuration, and what signs for them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::data_dir::{DataDir, DataDirError};
use super::smtp;
use crate::clock::Clock;
use crate::config::{Config, Hostname};
use crate::dns::{Resolver, ResolverError, Settings};
use crate::domain::verification::Schedule;
use crate::journey::deliver::sign::Signatory;
use crate::plugin::Plugins;
use crate::store::Store;
use crate::store::facts::Facts;
use crate::store::seal::{Purpose, Seal};
use crate::upkeep::verify_domains::{Gate, Rules, Verifier};

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

/// What verifies the sender domains of a server.
///
/// # Errors
/// See [`VerifierError`].
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
        gate: Gate::default(),
        rules: rules(config),
    }))
}

/// What signs with the keys of sender domains.
///
/// # Errors
/// The master key cannot be read.
pub fn signatory(
    data: &DataDir,
    facts: &Arc<Facts>,
    clock: &Clock,
) -> Result<Signatory, DataDirError> {
    let keys = Seal::new(&data.master_key()?, Purpose::DkimKeys);
    Ok(Signatory::new(Arc::clone(facts), keys, clock.clone()))
}

/// A machine that names no server has one of its own, as its C library has it: so a laptop without a
/// network still starts.
///
/// # Errors
/// No name server is known.
pub fn resolver(config: &Config, clock: &Clock) -> Result<Resolver, ResolverError> {
    let dns = &config.dns;
    let mut settings = Settings {
        nameservers: dns.nameservers.iter().map(|it| it.0).collect(),
        timeout: Duration::from_millis(dns.timeout_ms),
        tries: dns.tries,
        concurrent: dns.concurrent,
        per_second: dns.queries_per_second,
    };
    match Resolver::new(&settings, clock.clone()) {
        Err(error) if settings.nameservers.is_empty() => {
            tracing::warn!(%error, "sender domains are looked up at 127.0.0.1:53");
            settings.nameservers = vec![SocketAddr::from(([127, 0, 0, 1], 53))];
            Resolver::new(&settings, clock.clone())
        }
        made => made,
    }
}

/// What the operator decides about sender domains.
#[must_use]
pub fn rules(config: &Config) -> Rules {
    let domains = &config.domains;
    let hostname = smtp::hostname(&config.smtp);
    let or_below = |name: &Option<Hostname>, label: &str| {
        let own = name.as_ref().map(|it| it.as_str().to_owned());
        own.unwrap_or_else(|| format!("{label}.{}", hostname.as_str()))
    };
    Rules {
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
