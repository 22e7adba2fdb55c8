//! Builds the queue worker from `[delivery]`.

pub mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::data_dir::{DataDir, DataDirError};
use super::resolvers::paced_resolver;
use super::tasks::Tasks;
use super::{domain_checks, smtp};
use crate::clock::{Clock, Timestamp};
use crate::config::{Addresses, Config};
use crate::delivery::attempt::Attempts;
use crate::delivery::attempt::failover::Failover;
use crate::delivery::attempt::return_path::ReturnPaths;
use crate::delivery::attempt::sandbox::Sandbox;
use crate::delivery::queue::Spawner;
use crate::delivery::queue::retry_schedule::RetrySchedule;
use crate::delivery::queue::worker::Worker;
use crate::delivery::routing::mx::{
    AddressFamilies, MxResolver, MxSettings, StsFetchSettings, StsPolicies, StsPolicyFetcher,
};
use crate::delivery::shaping::admission::AdmissionControl;
use crate::delivery::shaping::destination::Destinations;
use crate::delivery::shaping::lookup_slots::MAX_PARALLEL_LOOKUPS;
use crate::delivery::shaping::memory_budget::MemoryBudget;
use crate::delivery::shaping::probation::Probation;
use crate::delivery::shaping::unresponsive::UnresponsiveAddresses;
use crate::delivery::smtp::{Timeouts, TlsClient};
use crate::dns::{Reach, ResolverError};
use crate::domain::name::DomainName;
use crate::id::NodeId;
use crate::nodes::Membership;
use crate::store::Store;
use crate::store::facts::Facts;
use crate::trust::TrustError;
use routes::{PasswordFileError, RouteReloader};

/// Why the delivery worker cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum DeliverySetupError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("`{0}` is not a valid domain name for return paths: set domains.return_path_host")]
    ReturnPathHost(String),
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    #[error("delivery.ca_file: {0}")]
    Trust(#[from] TrustError),
    #[error("policies of recipients' domains (MTA-STS) cannot be fetched: {0}")]
    StsPolicies(#[from] reqwest::Error),
    #[error(transparent)]
    Password(#[from] PasswordFileError),
}

/// What the worker needs of the rest of the server.
#[derive(Debug)]
pub struct WorkerDependencies {
    pub store: Store,
    pub clock: Clock,
    /// Names this process in its leases.
    pub node: NodeId,
    pub membership: Arc<Membership>,
    /// The domains' keys and return paths.
    pub facts: Arc<Facts>,
    /// Where the sandbox inbox listens.
    pub inbox: SocketAddr,
    /// Notified when a message is queued.
    pub wake: Arc<Notify>,
    /// The moment of the backup since whose restore delivery is held.
    pub held_since: Option<Timestamp>,
}

/// The worker, and what reloads its routes.
pub fn worker(
    config: &Config,
    data: &DataDir,
    dependencies: WorkerDependencies,
) -> Result<(Worker, RouteReloader), DeliverySetupError> {
    let delivery = &config.delivery;
    let WorkerDependencies { store, clock, node, membership, facts, inbox, wake, held_since } =
        dependencies;
    warn_of_hold(held_since);
    let tls = TlsClient::new(delivery.ca_file.as_deref())?;
    let admission = Arc::new(AdmissionControl {
        routes: ArcSwap::from_pointee(routes::routing_table(config)?),
        mx: mx_resolver(config, store.clone(), &tls, &clock)?,
        destinations: Arc::new(Destinations::default()),
        probation: Arc::new(Probation::of(delivery.concurrent)),
        memory: MemoryBudget::new(delivery.memory_bytes),
        has_no_free_attempt: AtomicBool::new(false),
        is_held: AtomicBool::new(held_since.is_some()),
        is_paused: AtomicBool::new(facts.maintenance().is_some_and(|it| it.holds_delivery())),
        clock: clock.clone(),
    });
    let failover = Failover {
        unresponsive: UnresponsiveAddresses::default(),
        hello: smtp::hostname(&config.smtp).as_str().to_owned(),
        source_addresses: delivery.local_addresses.clone(),
        tls,
        timeouts: Timeouts::default(),
        clock: clock.clone(),
    };
    let attempts = Attempts {
        store: store.clone(),
        signer: domain_checks::dkim_signer(data, &facts, &clock)?,
        return_paths: ReturnPaths::new(data.verp()?, return_path_host(config)?, facts),
        sandbox: Sandbox::new(inbox),
        failover,
        admission: Arc::clone(&admission),
        membership: Arc::clone(&membership),
    };
    let pauses = delivery.retry_pauses_s.iter().copied().map(Duration::from_secs);
    let schedule = RetrySchedule::with_pauses(pauses.collect())
        .suppressing_for(config.bounces.bounce_suppression());
    // An attempt is not vital: what is left of one that panicked is settled by the worker.
    let tasks = Tasks::default();
    let reloader = RouteReloader::new(Arc::clone(&admission), Arc::clone(&wake));
    let worker = Worker {
        store,
        owner: node.to_string(),
        membership,
        clock,
        attempts: Arc::new(attempts),
        admission,
        schedule: Arc::new(schedule),
        concurrent: delivery.concurrent,
        wake,
        spawner: Spawner::new(move |task| tasks.start("attempt", task)),
    };
    Ok((worker, reloader))
}

/// Says that nothing is delivered, and what ends that.
fn warn_of_hold(held_since: Option<Timestamp>) {
    metrics::gauge!("waxwing_delivery_held").set(if held_since.is_some() { 1.0 } else { 0.0 });
    if let Some(backup_at) = held_since {
        tracing::warn!(
            %backup_at,
            "this server was restored from a backup: messages are accepted and none is delivered, because what \
             waited then may have been sent since; run `waxwing queue release`, or `waxwing queue release \
             --cancel-queued`"
        );
    }
}

/// # Errors
/// The host of return paths is not a valid domain name.
pub fn return_path_host(config: &Config) -> Result<DomainName, DeliverySetupError> {
    let host = domain_checks::check_settings(config).return_path_host;
    host.parse().map_err(|_| DeliverySetupError::ReturnPathHost(host))
}

/// The resolver for MX lookups, with a rate limit apart from that of domain checks.
fn mx_resolver(
    config: &Config,
    store: Store,
    tls: &TlsClient,
    clock: &Clock,
) -> Result<Arc<MxResolver>, DeliverySetupError> {
    let delivery = &config.delivery;
    let pace = config.dns.delivery_queries_per_second;
    let resolver = paced_resolver(config, MAX_PARALLEL_LOOKUPS, pace, clock)?;
    let reach = if delivery.allow_private { Reach::Anywhere } else { Reach::Public };
    let policies = if delivery.mta_sts {
        let settings =
            StsFetchSettings { reach, port: delivery.mta_sts_port, ..StsFetchSettings::default() };
        let fetcher = StsPolicyFetcher::new(resolver.clone(), tls.verifying(), &settings)?;
        Some(StsPolicies::new(resolver.clone(), store, fetcher, clock.clone()))
    } else {
        None
    };
    let settings = MxSettings {
        addresses: match delivery.addresses {
            Addresses::Both => AddressFamilies::Both,
            Addresses::Ipv4 => AddressFamilies::Ipv4,
            Addresses::Ipv6 => AddressFamilies::Ipv6,
        },
        reach,
        own_names: vec![smtp::hostname(&config.smtp).as_str().to_owned()],
    };
    Ok(Arc::new(MxResolver::new(resolver, policies, clock.clone(), settings)))
}
