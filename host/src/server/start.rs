//! Puts the parts together, in the order in which they need each other.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::acme::{Challenges, Renewer, Trouble};
use super::data_dir::{DataDir, Lock};
use super::domain_checks::verifier;
use super::inbox::Sandbox;
use super::limits::LiveLimits;
use super::membership::{MembershipError, Node, RunningNode};
use super::reload::Reloader;
use super::start_error::StartError;
use super::tasks::{Tasks, once};
use super::{
    account_deletions, acme, backup, bounces, cli_settings, dashboard, delivery, descriptors,
    health, http, maintenance, master_key, plugins, relay, service_manager, shared_plugins, smtp,
    webhooks,
};
use crate::api::client_address::{Forwarding, TrustedProxies};
use crate::api::control_token::ControlToken;
use crate::api::lists::ListLimits;
use crate::api::readiness::Readiness;
use crate::api::{Api, ApiParts};
use crate::authoring::Authoring;
use crate::authoring::test_recipients::CONFIRMATION_LIFE;
use crate::clock::{Clock, Timestamp};
use crate::config::{Config, ForwardedHeader};
use crate::credit::Credits;
use crate::delivery::queue::worker::IDLE_PAUSE;
use crate::delivery::shaping::admission::AdmissionControl;
use crate::health::Listener;
use crate::inbox::store::InboxStore;
use crate::journey::Journey;
use crate::journey::accept::Accept;
use crate::journey::accept::rate_limit::RateLimits;
use crate::journey::commit::Commit;
use crate::journey::commit::batch;
use crate::journey::commit::decide::Rules;
use crate::management::settings::Settings;
use crate::nodes::{Job, Membership};
use crate::people::People;
use crate::plugin::Plugins;
use crate::store::facts::Facts;
use crate::store::seal::{Purpose, Seal};
use crate::store::{Place, Store};
use crate::telemetry;
use crate::upkeep::retention::{Kept, Retention};
use crate::upkeep::verify_domains::Verifier;

/// How long the connections to the database may take to close.
const CLOSE_TIME: Duration = Duration::from_secs(10);
/// How long deliveries under way may take after the listeners have stopped.
const DELIVERY_DRAIN: Duration = Duration::from_secs(30);
/// How long the outcome of a post to a webhook may take to be stored, after the time-out of the post. A post that is cut off
/// is made again.
const POST_DRAIN: Duration = Duration::from_secs(5);

/// A server that listens.
#[derive(Debug)]
pub struct RunningServer {
    /// Where HTTP listens.
    pub http: SocketAddr,
    /// Where HTTP listens with TLS; none where it does not.
    pub https: Option<SocketAddr>,
    /// Where HTTP without TLS listens for the challenges of the certificate authority; none where it does not.
    pub acme_http: Option<SocketAddr>,
    /// Where metrics are served; none where they are not.
    pub metrics: Option<SocketAddr>,
    /// Where the inbox's SMTP server listens; none where it is switched off.
    pub inbox_smtp: Option<SocketAddr>,
    /// Where the relay listens with STARTTLS.
    pub smtp_starttls: Vec<SocketAddr>,
    /// Where the relay listens with TLS from the first byte.
    pub smtp_tls: Vec<SocketAddr>,
    /// Where the listener for reports listens; none where that is switched off.
    pub reports: Option<SocketAddr>,
    /// What clients of the relay must trust, where its certificate is self-signed.
    pub ca_file: Option<PathBuf>,
    /// The store, for what `dev` makes at its first start.
    pub store: Store,
    /// The plugins, for the same.
    pub plugins: Arc<Plugins>,
    /// What adds sender domains, for the same.
    pub verifier: Arc<Verifier>,
    pub clock: Clock,
    /// Who logs in, for the same, and for the link of the first operator.
    pub people: Arc<People>,
    listeners: Tasks,
    core: Tasks,
    sandbox: Sandbox,
    stop_listeners: CancellationToken,
    stop_core: CancellationToken,
    broken: CancellationToken,
    readiness: Arc<Readiness>,
    /// How long the listeners go on when the stop has begun.
    drain: Duration,
    /// How long deliveries and posts to webhooks may take after the listeners have stopped.
    core_drain: Duration,
    pub(super) reloader: Reloader,
    node: RunningNode,
    _lock: Lock,
}

/// Starts everything; when this answers, everything listens.
///
/// # Errors
/// See [`StartError`]. Nothing listens then.
pub async fn start(configured: &Config) -> Result<RunningServer, StartError> {
    let config = descriptors::fit(configured);
    let (clock, data) = (Clock::system(), DataDir::of(&config.store)?);
    let lock = data.lock()?;
    data.remove_left_over();
    let metrics = telemetry::metrics::start()?;
    #[cfg(feature = "otlp")]
    if let Some(url) = config.telemetry.traces_url() {
        telemetry::traces::start(&url)?;
    }
    let place = data.place(&config.store)?;
    let (store, node) = store(&config, (&data, &place), &clock).await?;
    let broken = CancellationToken::new();
    let node = RunningNode::start(node, broken.clone());
    let parts = (store, node.clone(), clock, metrics, broken);
    let started = Box::pin(start_parts((configured, &config), (data, lock), parts)).await;
    if started.is_err() {
        // Others need not wait until its time is over.
        node.end().await;
    }
    started
}

#[expect(
    clippy::too_many_lines,
    reason = "one line a part, in the order in which they need each other"
)]
async fn start_parts(
    (configured, config): (&Config, &Config),
    (data, lock): (DataDir, Lock),
    (store, running_node, clock, metrics, broken): (
        Store,
        RunningNode,
        Clock,
        PrometheusHandle,
        CancellationToken,
    ),
) -> Result<RunningServer, StartError> {
    let node = &running_node.node;
    let membership = node.membership();
    let seal = Arc::new(Seal::of(&data.key_ring()?, Purpose::Samples));
    let shared = shared_plugins::of_store(&store, &clock, node.name());
    let options = plugins::options(config, &data, shared)?;
    let (plugins, plugin_supervisor) = Plugins::start(options, clock.clone()).await?;
    let facts = Arc::new(
        Facts::open(store.clone(), clock.clone(), config.store.template_memory_bytes).await?,
    );
    let verifier = verifier(config, &data, store.clone(), Arc::clone(&plugins), &clock)?;
    let inbox_store = inbox_store(&data, &store).await?;

    let http_ports = http::Ports::open(config).await?;
    let (http, metrics_address) = (http_ports.address(), http_ports.metrics_address());
    let (https, plain_address) = (http_ports.tls_address(), http_ports.plain_address());
    let relay = relay::Ports::open(config, &data, &clock).await?;
    let (challenges, trouble) = (Challenges::default(), Trouble::default());
    let told = (&challenges, &trouble);
    let renewer = Renewer::open(config, &data, relay.certificates(), told, &clock)?;
    let reports = bounces::Port::open(config, &data, &store, &clock).await?;
    let reports_address = reports.as_ref().map(bounces::Port::address);
    let smtp_ports = (relay.starttls_addresses(), relay.tls_addresses(), relay.ca_file());

    let control = ControlToken::random();
    data.write_control(http, control.secret())?;
    let [stop_listeners, stop_core] = [(); 2].map(|()| CancellationToken::new());
    let [listeners, core, inbox_tasks] = [(); 3].map(|()| Tasks::critical(broken.clone()));
    let sandbox = Sandbox::start(config, (&inbox_store, &clock), inbox_tasks).await?;
    let (committer, commits) = batch::channel();
    let commits = commits.keeping_samples(config.plugins.samples_kept).deciding_by(rules(config));
    let wake = Arc::new(Notify::new());
    let waker = waker(&wake, &clock);
    core.start("commit", commits.run(store.clone(), clock.clone(), waker, stop_core.clone()));
    let verify = Arc::clone(&verifier);
    let check_domains = move |stop| Arc::clone(&verify).run(stop);
    core.start("domains", once(membership, Job::DomainChecks, &stop_core, check_domains));
    let parts = delivery::WorkerDependencies {
        store: store.clone(),
        clock: clock.clone(),
        node: node.id(),
        membership: Arc::clone(membership),
        facts: Arc::clone(&facts),
        inbox: sandbox.address.unwrap_or(config.inbox.smtp_listen),
        wake: Arc::clone(&wake),
        held_since: store.begin_hold().await?,
    };
    let (worker, routes) = delivery::worker(config, &data, parts)?;
    let mut limits = LiveLimits::new(config, stop_listeners.clone());
    let people = dashboard::people(&data, &store, &clock, &limits)?;
    let evidence = plugins::evidence(&store, &seal, &clock, &limits);
    plugins::start(plugin_supervisor, &evidence, (&store, &clock), (&core, &stop_core));
    let tasks = (&core, &stop_core);
    let webhooks = webhooks::start(config, &data, (&store, &clock), membership, tasks)?;
    core.start("deliver", worker.run(stop_core.clone()));
    backup::start(config, &data, (&store, &clock), (&core, &stop_core))?;
    let (retention, of) = (retention(config), (store.clone(), clock.clone()));
    let retain = move |stop| retention.run(of.0.clone(), of.1.clone(), stop);
    core.start("retention", once(membership, Job::Retention, &stop_core, retain));
    let tasks = (&core, &stop_core);
    account_deletions::start((&store, &clock), &inbox_store, membership, tasks);
    let parts = (Arc::clone(&limits.rate_limits), routes.admission(), Arc::clone(&wake));
    core.start("share limits", share_limits(Arc::clone(membership), parts, stop_core.clone()));
    core.start("watchdog", service_manager::watchdog(stop_core.clone()));
    let kept = (data.clone(), metrics.clone());
    core.start("tidy", tidy(limits.buckets(), kept, stop_core.clone()));
    let (known, awoken) = (Arc::clone(&facts), Arc::clone(&wake));
    let watch = maintenance::watch(known, routes.admission(), awoken, stop_core.clone());
    core.start("read-only mode", watch);
    let accept =
        Accept { facts, clock: clock.clone(), rate_limits: Arc::clone(&limits.rate_limits) };
    let commit = Commit { clock: clock.clone(), committer, seal: Arc::clone(&seal) };
    let journey = Arc::new(Journey::new(accept, Arc::clone(&plugins), commit, store.clone()));
    if let Some(reports) = reports {
        reports.serve(config, relay.tls(), &listeners, &stop_listeners);
    }
    let settings = Settings::default();
    let readiness = Arc::new(Readiness::of_node(Arc::clone(membership)));
    let submission = (&*smtp_ports.0, &*smtp_ports.1);
    let bound = [
        ("[http] listen", Some(http)),
        ("[http] tls_listen", https),
        ("[http] metrics_listen", metrics_address.filter(|it| *it != http)),
        ("[acme] http_listen", plain_address),
        ("[bounces] listen", reports_address),
        ("[inbox] smtp_listen", sandbox.address),
    ];
    let health = health::running(
        configured,
        health::Parts {
            clock: clock.clone(),
            store: store.clone(),
            plugins: Arc::clone(&plugins),
            admission: routes.admission(),
            certificates: relay.certificates(),
            orders: config.acme.enabled.then_some(trouble),
            listeners: bound_listeners(&bound, submission),
        },
    )?;
    let health = Arc::new(health);
    let api = Api::from(ApiParts {
        journey: Arc::clone(&journey),
        proxies: proxies(config),
        store: store.clone(),
        people: Arc::clone(&people),
        people_url: config.people.base(),
        mailer: dashboard::mailer(config),
        settings: settings.clone(),
        plugins: Arc::clone(&plugins),
        admission: routes.admission(),
        verifier: Arc::clone(&verifier),
        webhooks,
        authoring: Authoring::new(store.clone(), Arc::clone(&plugins), clock.clone()),
        seal,
        evidence,
        control,
        due: wake,
        clock: clock.clone(),
        limits: Arc::clone(&limits.requests),
        relay_port: smtp_ports.0.first().map(SocketAddr::port),
        bodies: limits.bodies.clone(),
        lists: Arc::clone(&limits.lists),
        readiness: Arc::clone(&readiness),
        health: Arc::clone(&health),
        metrics,
    });
    let alerts = health::Alerts {
        api: api.clone(),
        hostname: smtp::hostname(&config.smtp).as_str().to_owned(),
        node: node.name().to_owned(),
        membership: Arc::clone(membership),
    };
    core.start("health", alerts.run(stop_core.clone()));
    let dashboard = dashboard::dashboard(config, &api, &people, submission);
    let for_https = |tls: Arc<_>| acme::server_config(&tls, &config.acme, &challenges);
    let tls = relay.tls().map(for_https);
    let beside = http::Beside {
        dashboard,
        inbox: config.inbox.view.then_some(inbox_store),
        challenges,
        tls,
        names: config.acme.names(&config.smtp),
    };
    running_node.node.go_live().await.map_err(MembershipError::Renewal)?;
    limits.relay = relay.serve(config, journey, &listeners, &stop_listeners);
    http_ports.serve(&api, beside, &limits, (&listeners, &stop_listeners));
    if let Some(renewer) = renewer {
        // From here on the certificate authority is answered.
        core.start("acme", renewer.run(stop_core.clone()));
    }
    Ok(RunningServer {
        http,
        https,
        acme_http: plain_address,
        metrics: metrics_address,
        inbox_smtp: sandbox.address,
        smtp_starttls: smtp_ports.0,
        smtp_tls: smtp_ports.1,
        reports: reports_address,
        ca_file: smtp_ports.2,
        store,
        plugins,
        verifier,
        clock,
        people,
        listeners,
        core,
        sandbox,
        stop_listeners,
        stop_core,
        broken,
        readiness,
        drain: Duration::from_secs(config.http.drain_seconds),
        core_drain: core_drain(config),
        reloader: Reloader::new((limits, routes, health), configured, settings),
        node: running_node,
        _lock: lock,
    })
}

/// Wakes the queue worker for what is due before it looks by itself.
fn waker(wake: &Arc<Notify>, clock: &Clock) -> impl Fn(Timestamp) + use<> {
    let (wake, clock) = (Arc::clone(wake), clock.clone());
    move |due| {
        if due <= clock.now().after(IDLE_PAUSE) {
            wake.notify_one();
        }
    }
}

/// The ports of the server, each with the setting that it comes from.
fn bound_listeners(
    single: &[(&'static str, Option<SocketAddr>)],
    (starttls, tls): (&[SocketAddr], &[SocketAddr]),
) -> Vec<Listener> {
    let single = single.iter().filter_map(|(setting, address)| Some((*setting, (*address)?)));
    let starttls = starttls.iter().map(|it| ("[smtp] listen_starttls", *it));
    let tls = tls.iter().map(|it| ("[smtp] listen_tls", *it));
    let all = single.chain(starttls).chain(tls);
    all.map(|(setting, address)| Listener { setting, address }).collect()
}

/// Keeps to this node's part of the limits, and to its own lanes, as nodes come and go.
async fn share_limits(
    membership: Arc<Membership>,
    (rate_limits, admission, wake): (Arc<RateLimits>, Arc<AdmissionControl>, Arc<Notify>),
    stop: CancellationToken,
) {
    let mut changes = membership.changes();
    while !stop.is_cancelled() {
        let nodes = membership.nodes();
        rate_limits.divide_among(nodes);
        admission.destinations.divide_among(nodes);
        wake.notify_one();
        tokio::select! {
            () = stop.cancelled() => {}
            _ = changes.changed() => {}
        }
    }
}

fn proxies(config: &Config) -> Arc<TrustedProxies> {
    let header = match config.http.forwarded_header {
        ForwardedHeader::XForwardedFor => Forwarding::XForwardedFor,
        ForwardedHeader::Forwarded => Forwarding::Forwarded,
    };
    Arc::new(TrustedProxies::new(config.http.trusted_proxies.clone(), header))
}

fn core_drain(config: &Config) -> Duration {
    DELIVERY_DRAIN.max(Duration::from_secs(config.webhooks.timeout_s) + POST_DRAIN)
}

fn rules(config: &Config) -> Rules {
    Rules { credits_low: Credits(config.credits.low) }
}

/// Brings the store of an earlier version up to date, opens it, registers this server as a node, and recovers from a crash:
/// leases of the run before are released, and due times are corrected.
async fn store(
    config: &Config,
    (data, place): (&DataDir, &Place),
    clock: &Clock,
) -> Result<(Store, Arc<Node>), StartError> {
    data.warn_of_readers();
    Store::upgrade(place, clock).await?;
    let store = Store::open(place.clone()).await?;
    master_key::verify(data, &store).await?;
    cli_settings::save_for_cli(config, &store).await?;
    // Before anything is written under the time of now.
    let is_ahead = store.is_ahead_of(clock.now()).await?;
    let (node, registered) = Node::join(&config.node, data, &store, clock).await?;
    // Beside other nodes this clock proves nothing: due times stay.
    if is_ahead && registered.others == 0 {
        let mended = store.mend_due_times(clock.now()).await?;
        tracing::warn!(
            mended,
            "the system clock was ahead in the previous run; due times of queued messages are moved to now or earlier"
        );
    }
    if registered.recovered > 0 {
        tracing::info!(
            released = registered.recovered,
            "released the leases of messages that were in flight at the last stop; they are retried now"
        );
    }
    Ok((store, node))
}

/// The sandbox inbox: in a file of its own, or in the database that several nodes share.
async fn inbox_store(data: &DataDir, store: &Store) -> Result<InboxStore, StartError> {
    if store.has_file() {
        return Ok(InboxStore::open(&data.inbox()?).await?);
    }
    Ok(InboxStore::shared(store.clone()))
}

fn retention(config: &Config) -> Retention {
    let days = |days: u32| Duration::from_hours(24 * u64::from(days));
    Retention {
        content: Kept::days(config.retention.content_days),
        messages: Kept::days(config.retention.message_days),
        samples: days(config.plugins.sample_days),
        deliveries: days(config.webhooks.kept_days),
        confirmations: CONFIRMATION_LIFE,
    }
}

impl RunningServer {
    /// Cancelled when a critical task panicked; the server must then shut down.
    #[must_use]
    pub fn broken(&self) -> CancellationToken {
        self.broken.clone()
    }

    /// Stops in four stages: first `/readyz` says so for a while, where that is configured; then the listeners stop, then
    /// what carries accepted messages on, then the sandbox inbox, to which it carries some. Other nodes take the shares
    /// of this one at once when the listeners stop.
    pub async fn drain(self) {
        self.announce().await;
        tracing::info!("stopping: no new requests, running ones finish");
        self.stop_listeners.cancel();
        // A request for the impact of a component would hold the HTTP listener until the component is compiled.
        self.plugins.stop_compiling();
        tokio::join!(self.node.node.drain(), self.listeners.finish());
        self.stop_core.cancel();
        if tokio::time::timeout(self.core_drain, self.core.finish()).await.is_err() {
            tracing::warn!(
                seconds = self.core_drain.as_secs(),
                "drain timeout exceeded: interrupted deliveries are retried after the next start, and their recipients may get a message twice"
            );
        }
        self.sandbox.finish().await;
        self.node.end().await;
        if tokio::time::timeout(CLOSE_TIME, self.store.close()).await.is_err() {
            tracing::warn!(
                "the connections to the database did not close in time; the server ends without them"
            );
        }
        #[cfg(feature = "otlp")]
        crate::trace::flush();
        tracing::info!("stopped; messages in the queue go on at the next start");
    }

    /// Lets a load balancer turn away before the listeners close. A server that has lost a part does not wait.
    async fn announce(&self) {
        self.readiness.stop();
        if self.drain.is_zero() || self.broken.is_cancelled() {
            return;
        }
        let seconds = self.drain.as_secs();
        tracing::info!(
            seconds,
            "stopping soon: /readyz answers 503, and the listeners go on for http.drain_seconds"
        );
        tokio::select! {
            () = tokio::time::sleep(self.drain) => {}
            () = self.broken.cancelled() => {}
        }
    }
}

/// Keeps buckets and metrics from growing, and takes over a new master key.
async fn tidy(
    (rate_limits, lists): (Arc<RateLimits>, Arc<ListLimits>),
    (data, metrics): (DataDir, PrometheusHandle),
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
        rate_limits.tidy();
        lists.tidy();
        metrics.run_upkeep();
        data.refresh_keys();
    }
}
