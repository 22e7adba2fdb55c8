//! Builds the queue worker from the settings of `[delivery]`, and reloads its routes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::data_dir::{DataDir, DataDirError};
use super::tasks::Tasks;
use super::{domains, smtp};
use crate::clock::Clock;
use crate::config::{self, Addresses, Config, Delivery};
use crate::delivery::attempt::Attempts;
use crate::delivery::attempt::failover::Failover;
use crate::delivery::attempt::return_path::ReturnPaths;
use crate::delivery::attempt::sandbox::Sandbox;
use crate::delivery::limits::Limits;
use crate::delivery::queue::Spawner;
use crate::delivery::queue::retry_schedule::RetrySchedule;
use crate::delivery::queue::worker::Worker;
use crate::delivery::routing::mx::{
    AddressFamilies, MxResolver, MxSettings, PolicyFetcher, StsFetchSettings, StsPolicies,
};
use crate::delivery::routing::route::{Route, Routes, Rule, Smarthost};
use crate::delivery::shaping::admission::{AdmissionControl, RoutingTable};
use crate::delivery::shaping::destination::Destinations;
use crate::delivery::shaping::memory_budget::MemoryBudget;
use crate::delivery::shaping::probation::Probation;
use crate::delivery::shaping::unresponsive::UnresponsiveAddresses;
use crate::delivery::smtp::{Login, Password, Security, Timeouts, TlsClient};
use crate::dns::{Reach, ResolverError};
use crate::domain::name::DomainName;
use crate::id::RequestId;
use crate::store::Store;
use crate::store::facts::Facts;
use crate::trust::TrustError;

/// Look-ups for deliveries at one time.
const MAX_PARALLEL_LOOKUPS: usize = 512;

/// Why the delivery worker cannot be set up, or its routes not reloaded.
#[derive(Debug, thiserror::Error)]
pub enum DeliverySetupError {
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("`{0}` is no domain for return paths: set domains.return_path_host")]
    ReturnPathHost(String),
    /// The name servers.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// The certificate authorities.
    #[error("delivery.ca_file: {0}")]
    Trust(#[from] TrustError),
    /// The client that fetches policies of domains.
    #[error("policies of recipients' domains (MTA-STS) cannot be fetched: {0}")]
    StsPolicies(#[from] reqwest::Error),
    /// The password of a smarthost.
    #[error("delivery.smarthosts (`{name}`): the password_file {path} cannot be read: {source}")]
    Password { name: String, path: PathBuf, source: std::io::Error },
}

/// What the worker needs of the rest of the server.
#[derive(Debug)]
pub struct Parts {
    pub store: Store,
    pub clock: Clock,
    /// The domains' keys and return paths.
    pub facts: Arc<Facts>,
    /// Where the sandbox inbox listens.
    pub inbox: SocketAddr,
    /// Tells of new messages.
    pub wake: Arc<Notify>,
}

/// Replaces the routing table at a reload of the configuration (SIGHUP).
#[derive(Debug)]
pub struct RouteReloader {
    admission: Arc<AdmissionControl>,
    wake: Arc<Notify>,
}

impl RouteReloader {
    /// What says why mail waits.
    pub fn admission(&self) -> Arc<AdmissionControl> {
        Arc::clone(&self.admission)
    }

    /// Swaps in the routing table of a configuration, forgets the back-off and the health of all hosts, and closes idle
    /// connections. Where the routes have changed, all messages that wait for a destination are due now; otherwise
    /// one message for each destination is.
    ///
    /// # Errors
    /// They cannot be used; those before stay.
    pub fn take(&self, config: &Config, are_others: bool) -> Result<(), DeliverySetupError> {
        self.admission.routes.store(Arc::new(routing_table(config)?));
        let destinations = &self.admission.destinations;
        destinations.forget();
        if are_others {
            destinations.requeue().request_all(String::new());
        } else {
            destinations.requeue().request_one_per_destination(String::new());
        }
        self.wake.notify_one();
        Ok(())
    }
}

/// What carries messages on, in the ways that the configuration names.
pub fn worker(
    config: &Config,
    data: &DataDir,
    parts: Parts,
) -> Result<(Worker, RouteReloader), DeliverySetupError> {
    let delivery = &config.delivery;
    let Parts { store, clock, facts, inbox, wake } = parts;
    let tls = TlsClient::new(delivery.ca_file.as_deref())?;
    let admission = Arc::new(AdmissionControl {
        routes: ArcSwap::from_pointee(routing_table(config)?),
        mx: mx_resolver(config, store.clone(), &tls, &clock)?,
        destinations: Arc::new(Destinations::default()),
        probation: Arc::new(Probation::of(delivery.concurrent)),
        memory: MemoryBudget::new(delivery.memory_bytes),
        has_no_free_attempt: AtomicBool::new(false),
        clock: clock.clone(),
    });
    let failover = Failover {
        unresponsive: UnresponsiveAddresses::default(),
        hello: smtp::hostname(&config.smtp).as_str().to_owned(),
        local: delivery.local_addresses.clone(),
        tls,
        timeouts: Timeouts::default(),
        clock: clock.clone(),
    };
    let attempts = Attempts {
        store: store.clone(),
        signer: domains::dkim_signer(data, &facts, &clock)?,
        return_paths: return_paths(config, data, facts)?,
        sandbox: Sandbox::new(inbox),
        failover,
        admission: Arc::clone(&admission),
    };
    let pauses = delivery.retry_pauses_s.iter().copied().map(Duration::from_secs);
    let schedule = RetrySchedule::with_pauses(pauses.collect())
        .suppressing_for(config.bounces.bounce_suppression());
    // An attempt is not vital: what is left of one that panicked is settled by the worker.
    let tasks = Tasks::default();
    let routes = RouteReloader { admission: Arc::clone(&admission), wake: Arc::clone(&wake) };
    let worker = Worker {
        store,
        owner: RequestId::new(clock.now()).to_string(),
        clock,
        attempts: Arc::new(attempts),
        admission,
        schedule: Arc::new(schedule),
        concurrent: delivery.concurrent,
        wake,
        spawner: Spawner::new(move |task| tasks.start("attempt", task)),
    };
    Ok((worker, routes))
}

/// What makes the addresses to which reports come back.
///
/// # Errors
/// The master key cannot be read, or the host of return paths is no domain.
fn return_paths(
    config: &Config,
    data: &DataDir,
    facts: Arc<Facts>,
) -> Result<ReturnPaths, DeliverySetupError> {
    let verp = data.verp()?;
    Ok(ReturnPaths::new(verp, return_path_host(config)?, facts))
}

/// # Errors
/// The host of return paths is no domain.
pub fn return_path_host(config: &Config) -> Result<DomainName, DeliverySetupError> {
    let host = domains::rules(config).return_path_host;
    host.parse().map_err(|_| DeliverySetupError::ReturnPathHost(host))
}

/// What knows where domains' mail goes. It has a pace of its own: mail does not wait for the checks of
/// sender domains.
///
/// # Errors
/// No name server is known, or HTTPS cannot be set up.
fn mx_resolver(
    config: &Config,
    store: Store,
    tls: &TlsClient,
    clock: &Clock,
) -> Result<Arc<MxResolver>, DeliverySetupError> {
    let delivery = &config.delivery;
    let pace = config.dns.delivery_queries_per_second;
    let resolver = domains::paced(config, MAX_PARALLEL_LOOKUPS, pace, clock)?;
    let reach = if delivery.allow_private { Reach::Anywhere } else { Reach::Public };
    let policies = if delivery.mta_sts {
        let settings =
            StsFetchSettings { reach, port: delivery.mta_sts_port, ..StsFetchSettings::default() };
        let fetcher = PolicyFetcher::new(resolver.clone(), tls.verifying(), &settings)?;
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

/// The routes of a configuration.
///
/// # Errors
/// A password file cannot be read.
pub fn routing_table(config: &Config) -> Result<RoutingTable, DeliverySetupError> {
    let delivery = &config.delivery;
    let all: Vec<Smarthost> = delivery
        .smarthosts
        .iter()
        .map(|it| smarthost(delivery, it))
        .collect::<Result<_, DeliverySetupError>>()?;
    let rules = delivery.rules.iter().map(|rule| Rule {
        accounts: rule.accounts.clone(),
        // Checked with the configuration.
        recipients: rule.recipients.iter().filter_map(|it| it.parse().ok()).collect(),
        route: route(rule.route, &rule.smarthosts, &all),
    });
    let routes = Routes { rules: rules.collect(), default: route(delivery.route, &[], &all) };
    let exceptions = delivery.destinations.iter().map(|it| {
        let limits = Limits {
            connections: it.connections.unwrap_or(delivery.connections),
            messages_per_connection: it
                .messages_per_connection
                .unwrap_or(delivery.messages_per_connection),
            per_minute: it.messages_per_minute.or(delivery.messages_per_minute),
        };
        (it.exchangers.to_ascii_lowercase(), limits)
    });
    Ok(RoutingTable {
        routes,
        direct: Limits {
            connections: delivery.connections,
            messages_per_connection: delivery.messages_per_connection,
            per_minute: delivery.messages_per_minute,
        },
        exceptions: exceptions.collect(),
        port: delivery.port,
    })
}

fn route(chosen: config::Route, names: &[String], all: &[Smarthost]) -> Route {
    match chosen {
        config::Route::Sandbox => Route::Sandbox,
        config::Route::Direct => Route::Direct,
        config::Route::Smarthost => {
            let smarthosts = all.iter().filter(|it| names.is_empty() || names.contains(&it.name));
            Route::Smarthosts(smarthosts.cloned().collect())
        }
    }
}

/// A smarthost with its password.
///
/// # Errors
/// The password file cannot be read.
pub fn smarthost(
    delivery: &Delivery,
    settings: &config::Smarthost,
) -> Result<Smarthost, DeliverySetupError> {
    let password = match (&settings.password, &settings.password_file) {
        (Some(password), _) => Some(password.0.clone()),
        (None, Some(path)) => {
            let text =
                std::fs::read_to_string(path).map_err(|source| DeliverySetupError::Password {
                    name: settings.name.clone(),
                    path: path.clone(),
                    source,
                })?;
            Some(text.trim_end_matches(['\r', '\n']).to_owned())
        }
        (None, None) => None,
    };
    let login = settings.user.clone().zip(password);
    let (security, port) = match settings.security {
        config::Security::Starttls => (Security::Verified, 587),
        config::Security::Tls => (Security::Implicit, 465),
        config::Security::Opportunistic => (Security::Opportunistic, 587),
        config::Security::None => (Security::Plain, 587),
    };
    Ok(Smarthost {
        name: settings.name.clone(),
        host: settings.host.clone(),
        port: settings.port.unwrap_or(port),
        security,
        login: login.map(|(user, password)| Login { user, password: Password::new(password) }),
        weight: settings.weight,
        limits: Limits {
            connections: settings.connections.unwrap_or(delivery.connections),
            messages_per_connection: settings
                .messages_per_connection
                .unwrap_or(delivery.messages_per_connection),
            per_minute: settings.messages_per_minute.or(delivery.messages_per_minute),
        },
    })
}
