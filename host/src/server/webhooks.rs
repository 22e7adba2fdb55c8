//! What posts events to webhooks, by the configuration.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::resolvers::resolver;
use super::tasks::{Tasks, once};
use crate::clock::Clock;
use crate::config::Config;
use crate::dns::ResolverError;
use crate::nodes::{Job, Membership};
use crate::store::Store;
use crate::store::seal::{Purpose, Seal};
use crate::trust::{self, TrustError};
use crate::webhooks::guard::{Guard, Schemes};
use crate::webhooks::post::{NoClient, Poster};
use crate::webhooks::schedule::Schedule;
use crate::webhooks::{WebhookSettings, Webhooks};

/// Why nothing can be posted.
#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    /// The master key.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The name servers.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    #[error(transparent)]
    Client(#[from] NoClient),
    /// The certificates that are trusted.
    #[error("webhooks.ca_file: {0}")]
    Trust(#[from] TrustError),
}

/// The webhooks of a server.
pub fn webhooks(
    config: &Config,
    data: &DataDir,
    store: Store,
    clock: &Clock,
) -> Result<Arc<Webhooks>, WebhooksError> {
    let settings = &config.webhooks;
    let guard = Arc::new(Guard {
        schemes: if settings.allow_http { Schemes::HttpAndHttps } else { Schemes::Https },
        allowed: settings.allow_private.clone(),
    });
    // Lookups of its own: an endpoint must not use up those of sender domains.
    let resolver = resolver(config, clock)?;
    let time = Duration::from_secs(settings.timeout_s);
    let tls = trust::https(settings.ca_file.as_deref())?;
    let poster = Poster::new(Arc::clone(&guard), resolver, tls, time, clock.clone())?;
    let pauses = settings.retry_pauses_s.iter().copied().map(Duration::from_secs);
    let rules = WebhookSettings {
        schedule: Schedule::with_pauses(pauses.collect()),
        concurrent: settings.concurrent,
        concurrent_per_webhook: settings.concurrent_per_webhook,
        per_owner: settings.per_account,
        give_up: Duration::from_secs(settings.disable_after_s),
    };
    let secrets = Seal::of(&data.key_ring()?, Purpose::Webhooks);
    Ok(Arc::new(Webhooks::new(store, secrets, clock.clone(), guard, poster, rules)))
}

/// Makes them and starts what hands events to them and posts.
pub fn start(
    config: &Config,
    data: &DataDir,
    (store, clock): (&Store, &Clock),
    membership: &Arc<Membership>,
    (core, stop): (&Tasks, &CancellationToken),
) -> Result<Arc<Webhooks>, WebhooksError> {
    let webhooks = webhooks(config, data, store.clone(), clock)?;
    let events = Arc::clone(&webhooks);
    let publish = move |stop| Arc::clone(&events).publish(stop);
    core.start("webhook events", once(membership, Job::WebhookEvents, stop, publish));
    core.start("webhooks", Arc::clone(&webhooks).send(Arc::clone(membership), stop.clone()));
    Ok(webhooks)
}
