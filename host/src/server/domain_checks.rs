//! Builds what checks sender domains, and what signs for them.

use std::sync::Arc;
use std::time::Duration;

use super::data_dir::{DataDir, DataDirError};
use super::resolvers::resolver;
use super::smtp;
use crate::clock::Clock;
use crate::config::{Config, Hostname};
use crate::delivery::attempt::dkim::DkimSigner;
use crate::dns::ResolverError;
use crate::domain::verification::Schedule;
use crate::plugin::Plugins;
use crate::store::Store;
use crate::store::facts::Facts;
use crate::store::seal::{Purpose, Seal};
use crate::upkeep::verify_domains::{AccountPermits, DomainCheckSettings, Verifier};

/// Why the verifier cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Resolver(#[from] ResolverError),
}

pub fn verifier(
    config: &Config,
    data: &DataDir,
    store: Store,
    plugins: Arc<Plugins>,
    clock: &Clock,
) -> Result<Arc<Verifier>, VerifierError> {
    let ring = data.key_ring()?;
    Ok(Arc::new(Verifier {
        store,
        plugins,
        resolver: resolver(config, clock)?,
        keys: Seal::of(&ring, Purpose::DkimKeys),
        samples: Arc::new(Seal::of(&ring, Purpose::Samples)),
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
    let keys = Seal::of(&data.key_ring()?, Purpose::DkimKeys);
    Ok(DkimSigner::new(Arc::clone(facts), keys, clock.clone()))
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
